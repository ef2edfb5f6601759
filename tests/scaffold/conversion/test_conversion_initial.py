"""What fills the weights of all layers of PyTorch, as initializers of each: or its line is told."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_torch import module

from mlax_scaffold.conversion import Converted, convert

TORCH = """\
import math
import torch
import torch.nn as nn
from timm.models.layers import trunc_normal_


class Inner(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.norm = nn.BatchNorm2d(dim)

    def forward(self, x):
        return self.norm(self.fc(x))


"""
CLASS = """\
class Thing(nn.Module):
    def __init__(self, dim, std=0.1):
        super().__init__()
        self.conv = nn.Conv2d(3, dim, (3, 5), bias=False)
        self.net = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.LayerNorm(dim))
        self.inner = Inner(dim)
        self.embed = nn.Embedding(7, dim)
        self.shift = nn.Parameter(torch.zeros(dim))
        {start}

    {method}

    def forward(self, x, i):
        return self.inner(self.net(self.conv(x))) + self.embed(i) + self.shift
"""
OUTSIDE = """\
def fill(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        m.weight.data.normal_(0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight, 1.0, 0.02)


"""


def of(start: str, method: str = "", before: str = "") -> Converted:
    body = CLASS.format(
        start=start.replace("\n", "\n        "),
        method=method.replace("\n", "\n    "),
    )
    made = convert("thing.py", TORCH + before + body, "Thing", "FromThing")
    assert made.whole, made.notes
    return made


def begun(made: Converted) -> dict[str, str]:
    """What the weights of each layer begin with, as the spec says it."""
    found = {}
    for line in made.text.splitlines():
        name, _, value = line.strip().partition(" = ")
        if name.startswith("self.") and "_initializer=" in value:
            at = value.index(", ", 0) if ", " in value else 0
            given = value[at:].split("_initializer=", 1)
            found[name[5:]] = f"{given[0].split()[-1]}: {given[1].removesuffix(')')}"
    return found


APPLY = """\
def _init_weights(self, m):
    if isinstance(m, nn.Linear):
        trunc_normal_(m.weight, std=0.02)
        if m.bias is not None:
            nn.init.constant_(m.bias, 0)
    elif isinstance(m, (nn.LayerNorm, nn.BatchNorm2d)):
        nn.init.ones_(m.weight)
        nn.init.zeros_(m.bias)
    elif isinstance(m, nn.Embedding):
        nn.init.normal_(m.weight, std=0.5)"""


def test_layers_of_all_classes_begin_as_a_function_that_is_applied_says():
    made = of("self.apply(self._init_weights)", APPLY)
    assert begun(made) == {
        "fc": "kernel: normal(0.02)",
        "net_0": "kernel: normal(0.02)",
        "embed": "embedding: normal(0.5)",
    }
    assert not made.notes


def test_what_follows_fills_weights_again():
    made = of(
        "self.apply(self._init_weights)\nnn.init.zeros_(self.net[0].weight)", APPLY
    )
    assert begun(made)["net_0"] == "kernel: zeros"
    made = of(
        "self.apply(self._init_weights)\nself.net[0].weight.data.mul_(0.1)", APPLY
    )
    assert "normal(0.02)(key, shape, dtype) * 0.1" in made.text


def test_layers_begin_as_loops_over_modules_say():
    made = of(
        "for m in self.modules():\n"
        "    if isinstance(m, nn.Conv2d):\n"
        "        n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels\n"
        "        m.weight.data.normal_(0, math.sqrt(2. / n))\n"
        "    elif type(m) == nn.Linear:\n"
        "        nn.init.xavier_uniform_(m.weight)"
    )
    assert begun(made) == {
        "conv": "kernel: normal(math.sqrt(2.0 / (3 * 5 * self.dim)))",
        "fc": "kernel: glorot_uniform()",
        "net_0": "kernel: glorot_uniform()",
    }
    assert not made.notes


def test_names_of_classes_are_told_by_their_text():
    made = of("self.apply(fill)", before=OUTSIDE)
    assert begun(made)["conv"] == "kernel: normal(0.02)"
    assert "1.0 + 0.02 * jax.random.normal(" in begun(made)["norm"]
    assert set(begun(made)) == {"conv", "norm"}
    assert not made.notes


def test_parameters_are_told_by_their_axes_and_names():
    made = of(
        "for name, p in self.named_parameters():\n"
        "    if p.dim() > 1 and 'embed' not in name:\n"
        "        nn.init.xavier_normal_(p)\n"
        "    elif name.endswith('shift'):\n"
        "        nn.init.ones_(p)"
    )
    assert begun(made) == {
        "fc": "kernel: glorot_normal()",
        "net_0": "kernel: glorot_normal()",
        "conv": "kernel: glorot_normal(in_axis=1, out_axis=0)",
    }
    assert "self.shift = trainable(ones, (self.dim,))" in made.text
    assert not made.notes


def test_a_weight_of_a_part_that_stands_alone_begins_as_it_is_filled():
    made = of("nn.init.zeros_(self.inner.fc.weight)")
    assert begun(made) == {"fc": "kernel: zeros"}
    made = of("nn.init.zeros_(self.inner.fc.weight)\nself.other = Inner(dim)")
    [note] = [n for n in made.notes if "zeros_" in n.what]
    assert begun(made) == {}
    assert note.line == 25


@pytest.mark.parametrize(
    ("start", "method", "left"),
    [
        # What a class that is made here does not know.
        (
            "self.std = std\nself.apply(self._init_weights)",
            "def _init_weights(self, m):\n    if isinstance(m, nn.Linear):\n"
            "        m.weight.data.normal_(0, self.std)",
            "normal_",
        ),
        # What nothing tells without the module.
        (
            "self.apply(self._init_weights)",
            "def _init_weights(self, m):\n    if m in self.chosen:\n"
            "        nn.init.zeros_(m.weight)",
            "nn.init.zeros_(m.weight)",
        ),
        # What is no initializer.
        (
            "for m in self.modules():\n    if isinstance(m, nn.Linear):\n"
            "        m.weight.data = other(m.weight)",
            "",
            "m.weight.data = other(m.weight)",
        ),
    ],
)
def test_what_cannot_be_carried_over_is_said_with_its_line(start, method, left):
    made = of(start, method)
    lines = (TORCH + CLASS.format(start=start, method=method)).splitlines()
    assert made.notes
    for note in made.notes:
        assert left in note.what
        assert left.split("(")[0].strip() in "".join(
            lines[note.line - 4 : note.line + 3]
        )
    assert "zeros" not in begun(made).values()


def test_layers_of_lists_that_are_filled_later_begin_so_too():
    text = (
        TORCH
        + """\
class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, dim))
        for i in range(depth):
            self.layers.add_module(f"layer{i}", nn.Linear(dim, dim))
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.zeros_(m.weight)

    def forward(self, x):
        return self.layers(x)
"""
    )
    made = convert("thing.py", text, "Thing", "FromThing")
    assert made.text.count("kernel_initializer=zeros") == 2


def test_numbers_of_a_layer_are_drawn_in_the_dtype_that_it_is_told_or_its_own():
    made = of("self.embed.weight.data.uniform_(-1 / dim, 1 / dim)")
    drawn = "jax.random.uniform(key, shape, dtype, -1 / self.dim, 1 / self.dim)"
    assert f"embedding_initializer=lambda key, shape, dtype=None: {drawn}" in made.text


def test_a_loop_that_fills_layers_of_a_list_is_left_out():
    made = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        for m in self.layers:
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                m.bias.data.zero_()

    def forward(self, x):
        return self.layers(x)
""")
    assert "the loop over `self.layers` is left out" in [n.what for n in made.notes]


# Weights that are filled where they are made.


@pytest.mark.parametrize(
    ("made", "initializer"),
    [
        ("nn.init.xavier_uniform_(torch.empty(dim, 4))", "glorot_uniform("),
        ("torch.nn.init.normal_(torch.zeros(dim, 4), std=0.02)", "normal(0.02)"),
        ("torch.empty(dim, 4).normal_(0, 0.02)", "normal(0.02)"),
        ("torch.empty(dim, 4).normal_(std=0.02)", "normal(0.02)"),
        ("torch.Tensor(dim, 4).uniform_(-0.1, 0.1)", "dtype, -0.1, 0.1), (self.dim, 4))"),
        ("filled(torch.zeros(dim, 4))", "-(1 / math.sqrt((self.dim, 4)[-1])), 1 / math"),
    ],
)  # fmt: skip
def test_a_weight_that_is_filled_where_it_is_made_has_that_initializer(
    made, initializer
):
    helper = (
        "def filled(tensor):\n    std = 1 / math.sqrt(tensor.shape[-1])\n"
        "    tensor.uniform_(-std, std)\n    return tensor\n\n\n"
    )
    text = converted(
        helper
        + module("Thing", f"self.w = nn.Parameter({made})", "x: return x @ self.w"),
        TORCH,
    ).text
    assert initializer in text.partition("self.w = trainable(")[2].partition("\n")[0]


def test_new_arrays_are_drawn_with_the_arguments_of_what_fills_them():
    text = converted(
        module(
            "Thing",
            "self.register_buffer('w', torch.empty(dim, 4).normal_(std=0.02))",
            "x: return x @ self.w * torch.empty_like(x).uniform_(0.9, 1.1).mean()",
        )
    ).text
    assert "jax.random.normal(key, shape, dtype) * 0.02" in text
    assert "jax.random.uniform(self.key(), x.shape, x.dtype)" in text
    assert "* (1.1 - 0.9) + 0.9" in text


@pytest.mark.parametrize(
    "filled",
    [
        "self.fc.weight = nn.Parameter(2.0 * self.centers)",
        "self.fc.bias = nn.Parameter(self.centers.norm(dim=1))",
        "nn.init.eye_(self.fc.weight)",
        "nn.init.dirac_(self.fc.weight)",
    ],
)
def test_other_numbers_that_a_layer_begins_with_are_told(filled):
    made = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, 4)\n"
            f"self.centers = nn.Parameter(torch.rand(4, dim))\n{filled}",
            "x: return self.fc(x) @ self.centers",
        )
    )
    [note] = made.notes
    assert "the weight begins with other numbers" in note.what
    assert "self.fc = Linear(self.dim, 4)" in made.text


@pytest.mark.parametrize(
    ("made", "begun"),
    [
        ("q", "trainable(orthogonal(1.0), (self.dim, self.dim))"),
        (
            "q.unsqueeze(2).unsqueeze(3)",
            "jnp.linalg.qr(jax.random.normal(key, shape[:2]))[0].reshape(shape).astype(dtype), "
            "(self.dim, self.dim, 1, 1))",
        ),
        ("q.unsqueeze(2).unsqueeze(-1)", "(self.dim, self.dim, 1, 1))"),
    ],
)
def test_a_matrix_of_a_decomposition_is_orthogonal(made, begun):
    start = f"w = torch.randn(dim, dim)\nq, _ = torch.linalg.qr(w)\nq = {made}\nself.w = nn.Parameter(q)"
    given = module("Thing", start, "x: return x @ self.w.squeeze()")
    assert begun in converted(given).text


@pytest.mark.parametrize("made", ["q.unsqueeze(0)", "q.unsqueeze(3)"])
def test_a_matrix_with_axes_before_it_is_listed(made):
    start = (
        f"q, _ = torch.linalg.qr(torch.randn(dim, dim))\nself.w = nn.Parameter({made})"
    )
    given = module("Thing", start, "x: return x @ self.w")
    found = convert("thing.py", TORCH + given, "Thing", "FromThing")
    assert any("initializer is not to be told" in n.what for n in found.notes)


@pytest.mark.parametrize(
    ("call", "begins"),
    [
        # The bounds of PyTorch are numbers, and no deviations.
        ("std=0.02", "normal(0.02)"),
        ("std=0.02, a=-2, b=2", "truncated_normal(0.02, -2 / 0.02, 2 / 0.02)"),
        ("", "truncated_normal(1.0)"),
        ("std=0.5", "truncated_normal(0.5, -2.0 / 0.5, 2.0 / 0.5)"),
        (
            "mean=1.0, std=0.1, a=0.8, b=1.2",
            "1.0 + truncated_normal(0.1, (0.8 - 1.0) / 0.1, (1.2 - 1.0) / 0.1)(key, shape, dtype)",
        ),
    ],
)
def test_truncated_numbers_are_within_the_bounds_of_pytorch(call, begins):
    given = f", {call}" if call else ""
    made = of(f"nn.init.trunc_normal_(self.net[0].weight{given})")
    joined = "".join(made.text.split())
    assert "".join(f"kernel_initializer={begins}".split()) in joined or (
        "".join(begins.split()) in joined and "lambda" in joined
    )
