"""The files of specs: which there are, and their texts."""

from __future__ import annotations

import importlib.util
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mlax_scaffold.errors import Diagnostic, Location, SpecError
from mlax_scaffold.model.definition import SECTIONS

LIBRARY_SPECS = Path(__file__).resolve().parent.parent / "specs"

_OTHER_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True)
class SpecFile:
    """The text of a spec and where it is."""

    path: str
    """Posix, relative to the project; what errors and headers call it."""
    section: str
    text: str
    origin: str = ""
    """What it comes with: mlax-scaffold, or a plugin; empty for a project's own."""


def installed_place(path: str) -> Path | None:
    """Where a spec is that comes with an installed package, by what errors and headers call it."""
    top, *rest = path.split("/")
    if len(rest) < 2 or not top.isidentifier():
        return None
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    folders = list(found.submodule_search_locations or ()) if found else []
    places = (Path(folder, *rest) for folder in folders)
    return next((place for place in places if place.is_file()), None)


def find_specs(root: Path, shown: str, origin: str = "") -> tuple[SpecFile, ...]:
    """The specs under a folder, in the order of their paths.

    Args:
        root: the folder; where there is none, there are no specs.
        shown: what messages call it.
        origin: what the specs come with.

    Raises:
        SpecError: naming all that stands in the place of a spec, or of a folder of
            specs, and cannot be read. Outputs of a spec that is not seen would be
            taken for orphans.
    """
    found: list[SpecFile] = []
    problems: list[Diagnostic] = []
    for section in SECTIONS:
        folder = f"{shown}/{section}"
        try:
            names = _names(root / section)
        except OSError as error:
            problems.append(_unreadable(folder, error, "a folder of specs"))
            continue
        for name in names:
            path = f"{folder}/{name}"
            try:
                text = _read(root / section / name)
                found.append(SpecFile(path, section, text, origin))
            except _NotAFileError as error:
                problems.append(_problem(path, f"{error}, expected a spec", "Move it."))
            except OSError as error:
                problems.append(_unreadable(path, error, "a spec"))
            except UnicodeDecodeError as error:
                problems.append(
                    _problem(path, f"not UTF-8: {error}", "Save it as UTF-8.")
                )
    if problems:
        raise SpecError(problems)
    return tuple(found)


@cache
def library_specs(shown: str, origin: str = "") -> tuple[SpecFile, ...]:
    """The specs that come with the generator, which stay as they are while it runs."""
    return find_specs(LIBRARY_SPECS, shown, origin)


class _NotAFileError(Exception):
    """What stands there is no regular file; opening it might never return."""


def _names(folder: Path) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        if folder.is_symlink():
            raise
        names = []
    return (n for n in names if n.endswith(".py") and n not in ("__init__.py", ".py"))


def _read(place: Path) -> str:
    mode = place.stat().st_mode
    if not stat.S_ISREG(mode):
        kinds = (name for matches, name in _OTHER_KINDS if matches(mode))
        raise _NotAFileError(next(kinds, "no regular file"))
    return place.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")


def _unreadable(path: str, error: OSError, expected: str) -> Diagnostic:
    if isinstance(error, FileNotFoundError):
        return _problem(
            path,
            f"a link to a file that does not exist, expected {expected}",
            "Remove the link, or bring back what it leads to.",
        )
    why = (error.strerror or str(error)).lower()
    return _problem(
        path, f"cannot be read: {why}", f"Make it {expected} that can be read."
    )


def _problem(path: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(Location(path, 1, 1), message, hint)


@cache
def library_text(section: str, stem: str) -> str | None:
    """The text of one of the library's specs."""
    place = LIBRARY_SPECS / section / f"{stem}.py"
    return place.read_text(encoding="utf-8") if place.is_file() else None
