"""Objects of plain classes that a module makes for itself."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

GRID = """\
class Grid:
    levels = 3

    def __init__(self, rows, columns=2):
        self.rows = rows
        self.columns = columns
        step = rows * columns
        self.half = step // 2

    @property
    def cells(self):
        return self.rows * self.columns

    def scaled(self, x, by):
        return x * by / self.half + self.offset(x)

    def offset(self, x):
        return x - self.levels

    def unused(self):
        return open("x")


"""
THING = """\
class Thing(nn.Module):
    def __init__(self, dim, rows):
        super().__init__()
        self.grid = Grid(rows)
        self.table = nn.Parameter(torch.zeros(self.grid.cells, dim))
        self.fc = nn.Linear(dim, self.grid.levels)

    def forward(self, x):
        return self.fc(self.grid.scaled(x @ self.table.t(), 2.0) @ self.table)
"""


def test_what_an_object_keeps_is_kept_by_the_module():
    text = converted(GRID + THING).text
    assert "class Grid" not in text
    assert (
        "self.table = trainable(zeros, (self.rows * self.grid_columns, self.dim))"
        in text
    )
    assert "self.fc = Linear(self.dim, self.grid_levels)" in text
    assert "def _grid_scaled(self, x, by):" in text
    assert "return x * by / self.grid_half + self._grid_offset(x)" in text
    assert "return x - self.grid_levels" in text
    assert "unused" not in text


def test_an_object_with_fields_is_one_of_these():
    head = """\
from dataclasses import dataclass


@dataclass
class Sizes:
    rows: int
    scale: float = 0.5

    def __post_init__(self):
        self.twice = 2 * self.rows


"""
    body = """\
class Thing(nn.Module):
    def __init__(self, dim, rows):
        super().__init__()
        self.sizes = Sizes(rows)
        self.fc = nn.Linear(dim, self.sizes.twice)

    def forward(self, x):
        return self.fc(x) * self.sizes.scale
"""
    text = converted(head + body).text
    assert "self.fc = Linear(self.dim, self.sizes_twice)" in text or (
        "self.fc = Linear(self.dim, 2 * self.rows)" in text
    )
    assert "class Sizes" not in text


def test_an_array_of_a_property_may_be_indexed():
    body = """\
class Thing(nn.Module):
    def __init__(self, steps: int = 8):
        super().__init__()
        self.register_buffer("betas", torch.linspace(0.1, 0.2, steps))

    @property
    def roots(self):
        return self.betas.sqrt()

    def forward(self, x, t):
        return x * self.roots[t][:, None]
"""
    assert "x * self._roots(x=x)[t][:, None]" in converted(body).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.grid.scaled(", "use(self.grid, "),
        ("self.grid.levels)", "len(self.grid))"),
        ("self.grid = Grid(rows)", "self.grid = Grid(*rows)"),
    ],
)
def test_an_object_that_is_read_itself_is_listed(before, after):
    given = (GRID + THING).replace(before, after)
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    assert not made.whole
    assert any("Grid" in note.what for note in made.notes if note.blocks)
