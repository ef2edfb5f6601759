"""Whole numbers in buffers of PyTorch, and lists of them that loops make longer."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
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


CUT = {
    "torch.tensor([0.5, 1.7, 2.9], dtype=torch.long)": "np.asarray([0.5, 1.7, 2.9]).astype(np.int32)",
    "torch.as_tensor(rates, dtype=torch.int32)": "np.asarray(rates).astype(np.int32)",
    "torch.LongTensor(rates)": "np.asarray(rates).astype(np.int32)",
    "torch.linspace(0, 9, dim, dtype=torch.long)": "np.linspace(0, 9, self.dim).astype(np.int32)",
    # What has no fractions is as it was written.
    "torch.tensor([0, 1, 3], dtype=torch.long)": "np.asarray([0, 1, 3])",
    "torch.tensor([i // 2 for i in range(dim)], dtype=torch.long)": (
        "np.asarray([i // 2 for i in range(self.dim)])"
    ),
}


@pytest.mark.parametrize("made", CUT)
def test_fractions_are_cut_where_a_tensor_of_whole_numbers_is_made_of_them(made: str):
    setup = (
        "rates = [1.7]\nfor i in range(dim - 1):\n    rates.append(rates[-1] + 2)\n"
        f'self.register_buffer("steps", {made})'
    )
    source = module("Thing", setup, "x: return x * self.steps", "dim")
    text = convert("thing.py", _HEAD + source, "Thing", "FromThing").text
    assert f"self.steps = {CUT[made]}\n" in text, text
