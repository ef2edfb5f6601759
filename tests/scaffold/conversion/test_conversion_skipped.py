"""Passes of loops that constructors leave early: what is behind `continue` is not made in them."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

THING = """\
class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        layers = []
        for {target} in {over}:
            layers.append(nn.Linear({sizes}))
            {test}
            layers.append(nn.ReLU())
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)
"""


def thing(test: str, target="i", over="range(depth)", sizes="dim, dim") -> str:
    """The class whose loop has these lines."""
    lines = test.replace("\n", "\n            ")
    return THING.format(target=target, over=over, sizes=sizes, test=lines)


@pytest.mark.parametrize(
    "test",
    [
        "if i == depth - 1:\n    continue",
        "if i >= depth - 1:\n    continue",
        "if i == depth - 1:\n    break",
    ],
)
def test_what_a_pass_skips_is_under_a_condition(test):
    text = converted(thing(test)).text
    operator = ">=" if ">=" in test else "=="
    assert (
        f"if not i {operator} self.depth - 1:\n                x = jax.nn.relu(x)"
        in text
    )


def test_what_stands_before_it_is_done_in_its_place():
    test = "if i == depth - 1:\n    layers.append(nn.Sigmoid())\n    continue"
    text = converted(thing(test)).text
    assert "if i == self.depth - 1:\n                x = jax.nn.sigmoid(x)" in text
    assert "if not i == self.depth - 1:\n                x = jax.nn.relu(x)" in text


@pytest.mark.parametrize("test", ["if i > 3:\n    break", "if dim > 3:\n    break"])
def test_a_loop_that_ends_before_its_last_pass_is_listed(test):
    given = TORCH + thing(test)
    made = convert("thing.py", given, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert "is left early" in note.what
    assert given.splitlines()[note.line - 1].strip() == "break"


STAGES = """\
class Block(nn.Module):
    def __init__(self, width, growth):
        super().__init__()
        self.fc = nn.Linear(width, growth)
        self.out = width + growth

    def forward(self, x):
        return torch.cat([x, self.fc(x)], -1)


class Thing(nn.Module):
    def __init__(self, width, growth=4, counts={counts}):
        super().__init__()
        layers = []
        for i, n in enumerate(counts):
            block = Block(width, growth * n)
            layers.append(block)
            width = block.out
            if i != len(counts) - 1:
                layers.append(nn.Linear(width, width // 2))
                width = width // 2
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)
"""


def test_layers_that_some_passes_alone_make_are_written_out_where_it_is_known():
    made = convert(
        "thing.py", TORCH + STAGES.format(counts="(1, 2)"), "Thing", "FromThing"
    )
    assert made.whole
    assert "self.net_0 = Block(self.width, self.growth)" in made.text
    assert "self.net_1 = Linear(" in made.text
    assert "self.net_2 = Block(" in made.text
    assert "self.net_3" not in made.text


def test_layers_that_are_made_for_nothing_are_told():
    given = STAGES.replace("counts={counts}", "counts: list[int] = None")
    given = given.replace("growth=4, counts: list[int] = None", "counts, growth=4")
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    said = [note.what for note in made.notes if not note.blocks]
    assert made.whole
    assert any("is made in each pass of the loop" in what for what in said)
