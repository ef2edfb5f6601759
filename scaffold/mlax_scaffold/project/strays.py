"""Specs in places where no spec is read."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from mlax_scaffold.model.definition import SECTIONS, Kind
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.write import FileStatus, Verdict

_CLASS = re.compile(r"^class +\w+ *\(([^)]*)\)", re.MULTILINE)
_FUNCTION = re.compile(r"^@function\s+def +\w+", re.MULTILINE)
_KINDS = {
    "Layer": Kind.LAYER,
    "Block": Kind.BLOCK,
    "Optimizer": Kind.OPTIMIZER,
    "Schedule": Kind.SCHEDULE,
}


def strays(
    root: str, specs: str, read: Iterable[SpecFile], known: Collection[str]
) -> list[FileStatus]:
    """The files below the folder of the specs that define something and are not read.

    Helpers that define nothing, or that specs import, may stand anywhere.

    Args:
        root: the project's root.
        specs: the folder of its specs.
        read: the specs that are read.
        known: the names of classes that specs define, and others may build on.
    """
    found = []
    texts = "\n".join(file.text for file in read)
    for path in _elsewhere(root, specs):
        if re.search(rf"\b{path.removesuffix('.py').replace('/', '[.]')}\b", texts):
            continue
        try:
            text = Path(root, path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            continue
        kind = _kind(text, known)
        if kind is not None:
            folder = f"{specs}/{kind.section}"
            detail = f"specs are read from {_folders(specs)}; move it to {folder}"
            found.append(FileStatus(path, Verdict.UNREAD, path, detail))
    return found


def _elsewhere(root: str, specs: str) -> Iterator[str]:
    """The Python files below the folder of the specs that are not read as specs."""
    for folder, names, files in os.walk(os.path.join(root, specs)):
        names[:] = sorted(n for n in names if n != "__pycache__" and n[0] != ".")
        place = os.path.relpath(folder, root).replace(os.sep, "/")
        read = place.removeprefix(f"{specs}/") in SECTIONS
        for name in sorted(files):
            if name.endswith(".py") and (not read or name == "__init__.py"):
                yield f"{place}/{name}"


def _kind(text: str, known: Collection[str]) -> Kind | None:
    """What a file defines, as far as can be told without reading it as a spec."""
    if "mlax_scaffold" not in text:
        return None
    for bases in _CLASS.findall(text):
        for base in re.findall(r"[\w.]+", bases):
            name = base.rpartition(".")[2]
            if name in _KINDS:
                return _KINDS[name]
            if name in known:
                return Kind.LAYER
    return Kind.FUNCTION if _FUNCTION.search(text) else None


def _folders(specs: str) -> str:
    first, *others = SECTIONS
    return ", ".join([f"{specs}/{first}", *others])
