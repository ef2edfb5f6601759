"""What a project records of the source that it owns: what was asked for, and the text it began from.

It lies beside the source, in `.owned/`, so that it moves with it, and is committed with it. Each text
is a file of its own, and each name a line, so that two branches that add layers merge.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mlax_scaffold.errors import UsageError
from mlax_scaffold.owning.place import Place, find_place

FOLDER = ".owned"
_SETTINGS = "settings.json"
_NAMES = "names.txt"
_SUFFIX = ".base"


@dataclass(frozen=True)
class Record:
    """What is recorded of one place."""

    place: Place
    version: str
    """That of the generator whose text the base is."""
    names: tuple[str, ...]
    plain: bool
    """Whether tests hold recorded values."""
    modules: bool = False
    """Whether layers bring their module classes."""
    base: Mapping[str, str] = field(default_factory=dict)
    """The text that each file began from, by its path below the project's root."""

    def files(self) -> dict[str, str]:
        """The files that hold the record, by their paths below the project's root."""
        place = self.place
        settings = {
            "version": self.version,
            "package": place.package,
            "tests": place.tests,
            "plain_tests": self.plain,
            "modules": self.modules,
        }
        files = {
            _SETTINGS: json.dumps(settings, indent=2) + "\n",
            _NAMES: "".join(f"{name}\n" for name in sorted(self.names)),
            ".gitattributes": f"{_NAMES} merge=union\n*{_SUFFIX} linguist-generated\n",
        }
        for path, text in self.base.items():
            files[f"base/{_inside(place, path)}{_SUFFIX}"] = text
        return {place.path(f"{FOLDER}/{name}"): text for name, text in files.items()}


def read_record(folder: str) -> Record | None:
    """The record of a folder; None where it owns nothing.

    Raises:
        UsageError: the record cannot be understood.
    """
    home = Path(folder, FOLDER)
    if not (home / _SETTINGS).is_file():
        return None
    try:
        settings = json.loads((home / _SETTINGS).read_text("utf-8"))
        names = sorted(set((home / _NAMES).read_text("utf-8").split()))
        version, package = str(settings["version"]), str(settings["package"])
        tests, plain = str(settings["tests"]), bool(settings["plain_tests"])
        modules = bool(settings["modules"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{home} cannot be understood ({error}): bring it back from version control"
        ) from error
    place = replace(find_place(folder, package, None), tests=tests)
    base = {}
    for file in sorted((home / "base").rglob(f"*{_SUFFIX}")):
        name = file.relative_to(home / "base").as_posix().removesuffix(_SUFFIX)
        base[_outside(place, name)] = file.read_text("utf-8")
    return Record(place, version, tuple(names), plain, modules, base)


def find_records(start: str) -> list[Record]:
    """The records of a folder and of all folders below it."""
    found = []
    for folder, names, _ in os.walk(start):
        if FOLDER in names and (record := read_record(folder)):
            found.append(record)
        names[:] = sorted(n for n in names if n[0] != "." and n != "node_modules")
    return found


def _inside(place: Place, path: str) -> str:
    for name, folder in (("package", place.folder), ("tests", place.tests)):
        if path.startswith(f"{folder}/"):
            return name + path.removeprefix(folder)
    raise AssertionError(path)


def _outside(place: Place, name: str) -> str:
    part, _, rest = name.partition("/")
    return f"{place.folder if part == 'package' else place.tests}/{rest}"
