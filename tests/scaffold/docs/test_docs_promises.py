"""Every complaint in the table of `docs/architecture.md` has tests, and these exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
_TITLE = "## What goes wrong with generators elsewhere"


def rows() -> list[tuple[str, list[str]]]:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = text.partition(_TITLE)[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    found = [line.strip("| ").split(" | ") for line in lines[2:]]
    return [(what, re.findall(r"`([^`]+)`", tests)) for what, tests in found]


def test_there_are_rows():
    assert len(rows()) >= 14


@pytest.mark.parametrize(("what", "tests"), rows(), ids=[what for what, _ in rows()])
def test_the_tests_of_a_row_exist(what: str, tests: list[str]):
    assert tests, what
    for test in tests:
        path, _, name = test.partition("::")
        tree = ast.parse((ROOT / "tests/scaffold" / path).read_text(encoding="utf-8"))
        names = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        assert name in names, test
