"""The notebook "Sharp Bits in blox", run with this library: every cell, and what it prints."""

from __future__ import annotations

import contextlib
import io
import json
from functools import cache
from pathlib import Path

import pytest

CELLS = json.loads((Path(__file__).parent / "sharp_bits.json").read_text("utf-8"))
IMPORT = "import blox as bx"
PRINTED = [cell["cell"] for cell in CELLS if cell["stdout"]]
NOT_RUN = {
    26: [
        "adder_10: [1.0, 2.0, 3.0] -> [11.0, 12.0, 13.0]",
        "adder_100: [1.0, 2.0, 3.0] -> [101.0, 102.0, 103.0]",
        "Both work correctly with static models!",
    ],
    28: [
        "value=10: [1.0, 2.0, 3.0] -> [11.0, 12.0, 13.0]",
        "value=100: [1.0, 2.0, 3.0] -> [101.0, 102.0, 103.0]",
        "Each function gets its own JIT cache!",
    ],
}
"""Cells that were stored without their output, and what their text says it is."""


@cache
def outputs() -> dict[int, list[str]]:
    """What each cell prints, when all run in order in one namespace."""
    namespace: dict[str, object] = {"__name__": "notebook"}
    printed = {}
    for cell in CELLS:
        code = "\n".join(cell["code"]).replace(IMPORT, "import mlax.graph as bx")
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(compile(code, f"cell {cell['cell']}", "exec"), namespace)
        printed[cell["cell"]] = stream.getvalue().split("\n")[:-1]
    return printed


def test_nothing_is_changed_but_the_import():
    assert len(CELLS) == 13
    assert sum(line == IMPORT for cell in CELLS for line in cell["code"]) == 1


@pytest.mark.parametrize("number", PRINTED)
def test_a_cell_prints_what_is_stored(number: int):
    [stored] = [cell["stdout"] for cell in CELLS if cell["cell"] == number]
    assert outputs()[number] == stored


@pytest.mark.parametrize("number", NOT_RUN)
def test_a_cell_prints_what_its_text_says(number: int):
    assert outputs()[number] == NOT_RUN[number]


def test_a_loop_and_a_scan_give_the_same():
    static, dynamic, last = outputs()[30]
    assert static.removeprefix("Static") == dynamic.removeprefix("Dynamic")
    assert last == "Same params, different execution modes!"
