"""Where in a project the source of layers goes, and how it is laid out there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from mlax_scaffold.errors import UsageError
from mlax_scaffold.project.settings import (
    FILE,
    package_mistakes,
    read_pyproject,
    read_table,
    settings,
)
from mlax_scaffold.render.text import WIDTH
from mlax_scaffold.write.tree import path_fault

_MARKS = (FILE, ".git", "setup.py", "setup.cfg")


@dataclass(frozen=True)
class Place:
    """A folder of a project that holds the source of layers. Paths are posix, relative to the root."""

    root: str
    folder: str
    package: str
    """The name that the folder is imported by."""
    tests: str
    width: int
    """Columns of a line, as the project's formatter has it."""

    @property
    def import_root(self) -> str:
        """The folder that the package is imported from; may be ""."""
        return self.folder.removesuffix(self.package.replace(".", "/")).rstrip("/")

    def path(self, name: str) -> str:
        """The path of a file below the folder."""
        return f"{self.folder}/{name}"


def find_place(into: str, package: str | None, tests: str | None) -> Place:
    """The place that a command line names.

    Args:
        into: the folder of the source.
        package: the name to import it by; None: as its place says.
        tests: the folder of the tests; None: one in `tests` that is called as the package.

    Raises:
        UsageError: it is no place for them.
    """
    absolute = os.path.realpath(into)
    root = _root_above(absolute)
    folder = _below(root, absolute, into)
    name = package or _package(root, folder)
    if mistakes := package_mistakes(name):
        raise UsageError(f"{mistakes[0]}; give it by --package")
    if not f"/{folder}".endswith(f"/{name.replace('.', '/')}"):
        raise UsageError(
            f'{into} cannot be imported as "{name}": expected a folder that ends in '
            f"{name.replace('.', '/')}"
        )
    _refuse_generated(root, folder)
    if tests is None:
        tests = f"tests/{folder.rpartition('/')[2]}"
    else:
        tests = _below(root, os.path.realpath(tests), tests)
    if tests == folder or tests.startswith(f"{folder}/"):
        raise UsageError(f"the tests cannot be in {folder}: expected another folder")
    return Place(root, folder, name, tests, _width(root))


def _root_above(absolute: str) -> str:
    folder = absolute
    while True:
        folder = os.path.dirname(folder)
        if any(os.path.exists(os.path.join(folder, mark)) for mark in _MARKS):
            return folder
        if os.path.dirname(folder) == folder:
            return os.path.realpath(os.getcwd())


def _below(root: str, absolute: str, given: str) -> str:
    path = os.path.relpath(absolute, root).replace(os.sep, "/")
    if path == "." or path_fault(path):
        raise UsageError(
            f"{given} is no folder inside of the project {root}: expected one such as "
            "src/mynet/layers"
        )
    return path


def _package(root: str, folder: str) -> str:
    """The dotted name of a folder, from the first above it that is no package."""
    parts = folder.split("/")
    start = 1 if parts[0] == "src" and len(parts) > 1 else 0
    for number in range(len(parts) - 1, start, -1):
        above = os.path.join(root, *parts[:number])
        if os.path.isdir(above) and not os.path.exists(
            os.path.join(above, "__init__.py")
        ):
            inside = os.path.join(root, *parts[: number + 1], "__init__.py")
            if os.path.exists(inside):
                start = number
                break
    return ".".join(parts[start:])


def _refuse_generated(root: str, folder: str) -> None:
    table = read_table(root)
    if table is None:
        return
    project = settings(table, os.path.join(root, FILE))
    for place in project.folders:
        if f"{folder}/".startswith(f"{place}/") or f"{place}/".startswith(f"{folder}/"):
            raise UsageError(
                f"{folder} is a place of generated files ({place}): expected a folder of "
                "the project's own code. Specs of this project can use the library's "
                "layers as they are: from mlax_scaffold.specs.nn.linear import Linear"
            )


def _width(root: str) -> int:
    """The line length of ruff or black in pyproject.toml; otherwise the generator's."""
    tools: Any = (read_pyproject(root) or {}).get("tool", {})
    for name in ("ruff", "black"):
        table = tools.get(name) if isinstance(tools, dict) else None
        width = table.get("line-length") if isinstance(table, dict) else None
        if isinstance(width, int) and 40 <= width <= 320:
            return width
    return WIDTH
