"""Whole numbers in buffers of PyTorch, and lists of them that loops make longer."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
from test_conversion_forms import converted
from test_conversion_torch import module

from mlax_scaffold.conversion import convert

OFFSETS = """\
self.table = nn.Embedding(sum(sizes), dim)
starts = [0]
for size in sizes[:-1]:
    starts.append(starts[-1] + size)
self.register_buffer("starts", torch.tensor(starts, dtype=torch.long))"""
LOOKS_UP = "x: return self.table(x + self.starts.unsqueeze(0))"


def _starts(text: str, sizes: tuple[int, ...]) -> list[int]:
    """What a spec computes of these sizes."""
    setup = re.search(r"        starts = .*?\n        self.starts = .*?\n", text, re.S)
    assert setup is not None, text
    holder = SimpleNamespace(sizes=sizes, starts=())
    code = "\n".join(line[8:] for line in setup[0].splitlines())
    exec(code, {"np": np, "self": holder})
    return [*map(int, holder.starts)]


def test_each_pass_is_made_of_what_the_passes_before_it_appended():
    source = module("Thing", OFFSETS, LOOKS_UP, "sizes, dim")
    for run in range(4):
        text = convert("thing.py", _HEAD + source, "Thing", "FromThing", run=run).text
        assert _starts(text, (4, 5, 6)) == [0, 4, 9]


_HEAD = "import torch\nimport torch.nn as nn\n\n\n"


def test_an_attribute_that_grows_of_itself_does_so_however_far_constructors_are_run():
    start = (
        "self.table = nn.Embedding(sum(sizes), dim)\nself.starts = [0]\n"
        "for size in sizes[:-1]:\n    self.starts.append(self.starts[-1] + size)"
    )
    call = "x: return self.table(x + torch.tensor(self.starts).unsqueeze(0))"
    source = module("Thing", start, call, "sizes, dim")
    for run in range(4):
        text = convert("thing.py", _HEAD + source, "Thing", "FromThing", run=run).text
        assert "self.starts.append(self.starts[-1] + size)" in text


def test_numbers_that_are_said_to_be_whole_stay_so_beside_indices():
    text = converted(module("Thing", OFFSETS, LOOKS_UP, "sizes, dim")).text
    assert "jnp.asarray(self.starts)" in text
    assert 'x: Int["batch len(sizes)"]' in text.replace("'", '"')


def test_casts_to_whole_numbers_cut_off_fractions():
    start = "steps = (torch.arange(n) * 1.7).int()\nself.register_buffer('w', steps.float() / 2)"
    text = converted(module("Thing", start, "x: return x * self.w", "n")).text
    assert "(np.arange(self.n) * 1.7).astype(np.int32)" in text


def test_casts_of_what_is_whole_are_left_out():
    start = "self.register_buffer('w', (torch.arange(n) // 2).long().float() / 2)"
    text = converted(module("Thing", start, "x: return x * self.w", "n")).text
    assert "astype" not in text


def test_negative_powers_of_whole_numbers_have_fractions():
    start = (
        "levels = torch.tensor(levels)\n"
        "self.register_buffer('w', torch.stack([(levels.float() - 1) ** -i for i in range(2)]))"
    )
    text = converted(
        module("Thing", start, "x: return x * self.w[1]", "levels=(8, 5)")
    ).text
    assert re.search(r"np\.float_power\(\w+ - 1, -i\)", text)
