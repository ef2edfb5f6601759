"""Projects to measure on: synthetic specs, and those of the library."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import processes

from mlax_scaffold.reader.files import LIBRARY_SPECS
from mlax_scaffold.reader.homes import module_name

_CLASS = re.compile(r"^class (\w+)(?=\(\s*Layer\b)", re.MULTILINE)


def initialize(folder: Path) -> Path:
    """Make a new folder a project of the package `bench`."""
    folder.mkdir(parents=True)
    processes.run((*processes.TOOL, "init", "--package", "bench", "--yes"), folder)
    return folder


def synthetic(folder: Path, count: int) -> Path:
    """A project with that many specs: the library's layers, in turn, renamed."""
    initialize(folder)
    texts = list(layers().values())
    specs = folder / "specs" / "nn"
    specs.mkdir(parents=True)
    for number in range(count):
        name, text = renamed(texts[number % len(texts)], number)
        specs.joinpath(f"{module_name(name)}.py").write_text(text, encoding="utf-8")
    return folder


def layers() -> dict[str, str]:
    """The specs of the library's layers that are no variants of another, by name."""
    texts = {
        place.stem: place.read_text(encoding="utf-8")
        for place in sorted((LIBRARY_SPECS / "nn").glob("[!_]*.py"))
    }
    return {name: text for name, text in texts.items() if _CLASS.search(text)}


def renamed(text: str, number: int) -> tuple[str, str]:
    """The name and the text of a spec like another one, under a name of its own."""
    found = _CLASS.search(text)
    if found is None:
        raise ValueError(f"no class of a layer in the spec:\n{text}")
    name = f"{found.group(1)}{number:04}"
    return name, _CLASS.sub(f"class {name}", text, count=1)


def library(folder: Path, kinds: Sequence[str] = ()) -> Path:
    """A project with copies of the library's own specs, or those of some kinds."""
    initialize(folder)
    ignored = shutil.ignore_patterns("__pycache__")
    for place in LIBRARY_SPECS.iterdir():
        if place.is_dir() and place.name in (kinds or [place.name]):
            shutil.copytree(place, folder / "specs" / place.name, ignore=ignored)
    return folder


def count_specs(folder: Path) -> int:
    """How many specs a project has."""
    return len(list((folder / "specs").rglob("[!_]*.py")))


def generate(folder: Path) -> Path:
    """Bring a project up to date."""
    processes.run((*processes.TOOL, "generate", "--quiet", "--no-trial"), folder)
    return folder


def empty(folder: Path) -> None:
    """Delete what was generated, and the record of it."""
    for name in ("bench", "tests", "docs", ".mlax-scaffold"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "mlax-scaffold.lock").unlink(missing_ok=True)
