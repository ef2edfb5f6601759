"""Reads many specs, renders and imports those that are let through, and tells what is wrong."""

from __future__ import annotations

import random
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fuzz_hostile import hostile
from fuzz_imports import imported
from fuzz_mutations import mutated
from fuzz_pipeline import Made, formatted, limited, make

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.reader.files import SpecFile

BATCH = 200


@dataclass(frozen=True)
class Failure:
    """A spec with which something went wrong, and what."""

    name: str
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}\n{self.text}"


@dataclass
class Report:
    """What became of the specs."""

    refused: int = 0
    rendered: int = 0
    untried: int = 0
    """Let through, and refused by the trial before anything is written: the import fails."""
    failures: list[Failure] | None = None


def specs(count: int, seed: int) -> Iterator[tuple[str, SpecFile]]:
    """Each with a name that makes it again: `mutated-SEED-NUMBER`."""
    for number in range(count):
        make_one = hostile if number % 2 else mutated
        name = f"{make_one.__name__}-{seed}-{number}"
        yield name, make_one(random.Random(name))


def fuzz(given: Iterable[tuple[str, SpecFile]]) -> Report:
    """Read and render all of them; import what is rendered, in batches."""
    report = Report(failures=[])
    waiting: list[tuple[str, Made]] = []
    for name, file in given:
        try:
            with limited():
                made = make(file)
        except Exception:
            _fail(report, name, _told(), file)
            continue
        if made is None:
            report.refused += 1
            continue
        waiting.append((name, made))
        if len(waiting) == BATCH:
            _finish(report, waiting)
            waiting = []
    _finish(report, waiting)
    return report


def _finish(report: Report, waiting: list[tuple[str, Made]]) -> None:
    ready = list(_formatted(report, waiting))
    found = imported([_modules(made) for _, made in ready])
    for (name, made), what in zip(ready, found, strict=True):
        report.rendered += 1
        if what.startswith("import: "):
            report.untried += 1
            if not _tried(what):
                _fail(report, name, what, made.spec)
        elif what:
            _fail(report, name, what, made.spec)


_OF_NAMES = ("AttributeError", "ImportError", "ModuleNotFoundError", "TypeError")


def _tried(what: str) -> bool:
    """Whether the trial of what changed is there to find it: a name that jax does not have."""
    return what.split(": ")[1] in _OF_NAMES


def _formatted(
    report: Report, waiting: list[tuple[str, Made]]
) -> Iterator[tuple[str, Made]]:
    """What passes the gate; where a batch does not, each by itself."""
    what = ""
    try:
        made = formatted([made for _, made in waiting])
    except MlaxScaffoldError:
        made = []
        what = _told()
    if made or not waiting:
        yield from zip([name for name, _ in waiting], made, strict=True)
    elif len(waiting) == 1:
        [(name, one)] = waiting
        _fail(report, name, what, one.spec)
    else:
        middle = len(waiting) // 2
        yield from _formatted(report, waiting[:middle])
        yield from _formatted(report, waiting[middle:])


def _modules(made: Made) -> list[tuple[str, str, str, str]]:
    files = {f.path: f for f in made.files}
    found = []
    for file in made.draft.files:
        stem = file.path.removesuffix(".py").replace("/", ".")
        if file.path.startswith("tests/"):
            stem = stem.rpartition(".")[2]
        text = files[file.path].text
        found.append((stem, file.path, text, made.spec.path))
    # The module, its class, and then the tests, which import both.
    return sorted(found, key=lambda m: (m[0].startswith("test_"), ".graph." in m[0]))


def _told() -> str:
    """The last calls of what was raised."""
    return traceback.format_exc(limit=-3, chain=False)


def _fail(report: Report, name: str, what: str, file: SpecFile) -> None:
    assert report.failures is not None
    report.failures.append(Failure(name, what, file.text))
