"""The zoo: a project of definitions from papers, which are compared with what the papers say.

Its generated tests take minutes; `.ci/full zoo` runs them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs_blocks import ROOT

from mlax_scaffold import cli
from mlax_scaffold.errors import SpecError
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.reader.remedies.mending import mend

ZOO = ROOT / "docs" / "zoo"
SPECS = sorted((ZOO / "specs").glob("*/*.py"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def test_there_are_enough_of_each_kind():
    kinds = [path.parent.name for path in SPECS]
    assert len(kinds) >= 40
    assert {"block", "nn", "optim", "schedule"} <= set(kinds)
    # They are not in the library.
    library = {path.stem for path in LIBRARY_SPECS.glob("*/*.py")}
    assert not library & {path.stem for path in SPECS}


def test_specs_are_what_fixes_make_of_attempts():
    attempts = find_specs(ZOO / "attempts", "specs")
    specs = {name_of(path): path.read_text(encoding="utf-8") for path in SPECS}
    own = tuple(file for file in attempts if _name(file) in specs)
    built_in = find_specs(LIBRARY_SPECS, "library")
    with pytest.raises(SpecError) as error:
        read_library(own, built_in, foreign=True)
    mended = mend(
        own,
        error.value,
        lambda files: read_library(tuple(files), built_in, foreign=True),
    )
    assert mended.texts
    expected = {_name(file): mended.texts.get(file.path, file.text) for file in own}
    assert expected == specs


def _name(file: SpecFile) -> str:
    return file.path.removeprefix("specs/").removesuffix(".py")


def test_what_it_generates_is_up_to_date(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        cli.main(("check", "--project", str(ZOO)))
    assert not stop.value.code, capsys.readouterr().out
    assert "all clean" in capsys.readouterr().out


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_each_is_compared_with_its_paper(path: Path):
    assert (ZOO / "references" / f"{path.stem}.py").is_file()
    tests = "".join(
        test.read_text(encoding="utf-8")
        for test in (ZOO / "tests" / "parity").glob("test_*.py")
    )
    imported = re.findall(rf"^from references\.{path.stem} import (\w+)", tests, re.M)
    assert imported
    assert all(len(re.findall(rf"\b{name}\b", tests)) > 1 for name in imported)


def test_they_compute_what_papers_say():
    run = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/parity",
    )
    # This run's own workers and options are not those of that one.
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        run, cwd=ZOO, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+ passed in", done.stdout, re.M), done.stdout
