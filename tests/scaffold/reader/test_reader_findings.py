"""Every finding of the reader, as text: place, message, caret, and what to write instead.

A file in `cases/` holds one or several specs that are read together, and all that is found in them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlax_scaffold.errors import SpecError
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
READER = LIBRARY_SPECS.parent / "reader"


def split(case: Path) -> tuple[tuple[SpecFile, ...], str]:
    """The specs of a case, and the findings."""
    _, *parts = re.split(r"(?m)^=== (\S+)\n", case.read_text(encoding="utf-8"))
    texts = dict(zip(parts[::2], parts[1::2], strict=True))
    findings = texts.pop("findings")
    return tuple(SpecFile(p, p.split("/")[1], t) for p, t in texts.items()), findings


@pytest.fixture(scope="module")
def built_in() -> tuple[SpecFile, ...]:
    return find_specs(LIBRARY_SPECS, "library")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_findings(case: Path, built_in: tuple[SpecFile, ...]):
    specs, expected = split(case)
    with pytest.raises(SpecError) as error:
        read_library(specs, built_in, document_fields=case.stem == "undocumented")
    assert str(error.value) + "\n" == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_findings_come_in_the_order_of_their_places(case: Path, built_in):
    specs, _ = split(case)
    with pytest.raises(SpecError) as error:
        read_library(specs, built_in, document_fields=case.stem == "undocumented")
    places = [d.location for d in error.value.diagnostics]
    assert places == sorted(places)
    assert len(set(error.value.diagnostics)) == len(places)


def found(
    specs: tuple[SpecFile, ...], case: Path, built_in
) -> list[tuple[object, str]]:
    with pytest.raises(SpecError) as error:
        read_library(specs, built_in, document_fields=case.stem == "undocumented")
    return [(d.location, d.message) for d in error.value.diagnostics]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_constant_beside_the_definition_changes_no_finding(case: Path, built_in):
    """Where there are constants, methods are read as copies that hold their values."""
    specs, _ = split(case)
    beside = "\n\n\nCONSTANT_OF_A_TEST = 1\n"
    others = tuple(replace(s, text=s.text.rstrip("\n") + beside) for s in specs)
    assert found(others, case, built_in) == found(specs, case, built_in)


def messages() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Each message that the reader can give, with its place in the source."""
    refusals = READER.parent / "model" / "import_time.py"
    for path in (*sorted(READER.rglob("*.py")), refusals):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            if name not in ("report", "Diagnostic", "_add", "_at", "Refused"):
                continue
            for text in node.args[1:4]:
                if isinstance(text, ast.Constant | ast.JoinedStr):
                    pattern = as_pattern(text)
                    if pattern is not None:
                        yield f"{path.name}:{text.lineno}", pattern
                        break


def as_pattern(node: ast.Constant | ast.JoinedStr) -> re.Pattern[str] | None:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    fixed = [
        re.escape(part.value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
        else ".*"
        for part in parts
    ]
    letters = "".join(fixed).replace(".*", "")
    return re.compile("".join(fixed)) if len(letters) > 3 else None


ELSEWHERE = {
    "not UTF-8: ": "test_reader_texts.py",
    "the character ": "test_reader_texts.py",
    "` is imported, and nothing reads it": "test_reader_texts.py",
}
"""Messages about texts that no text file holds, or of specs that import what is installed."""


@pytest.mark.parametrize(
    ("place", "pattern"), list(messages()), ids=lambda value: str(value)[:60]
)
def test_every_message_has_a_case(place: str, pattern: re.Pattern[str]):
    if any(re.escape(start) in pattern.pattern for start in ELSEWHERE):
        tests = Path(__file__).parent / "test_reader_texts.py"
        start = next(s for s in ELSEWHERE if re.escape(s) in pattern.pattern)
        assert start in tests.read_text(encoding="utf-8")
        return
    mistakes = sorted((Path(__file__).parent / "mistakes").glob("*.txt"))
    found = [split(case)[1] for case in CASES]
    found += [case.read_text(encoding="utf-8") for case in mistakes]
    assert any(pattern.search(text) for text in found), place
