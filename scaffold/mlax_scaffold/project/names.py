"""Which names a new definition may have."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from mlax_scaffold.errors import UsageError
from mlax_scaffold.model.definition import OPTIMIZER_TOOLS, SECTIONS, Kind
from mlax_scaffold.model.import_time import INITIALIZERS, OWN_INITIALIZERS
from mlax_scaffold.model.reserved import IMPORTED_CLASSES, IMPORTED_MODULES
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.project.lookup import find_named, full_names
from mlax_scaffold.project.workspace import names_of
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.reader.imports import BASES, DECLARATIONS, TYPES
from mlax_scaffold.reader.keywords import MODULES

MAX_LENGTH = 60

# Windows has no files of these names, with any suffix.
_DEVICES = {
    *("con", "prn", "aux", "nul"),
    *(f"{name}{number}" for name in ("com", "lpt") for number in range(1, 10)),
}
_RESERVED = {
    *(*WORDS, *TYPES, *BASES, *DECLARATIONS),
    *(*INITIALIZERS, *OWN_INITIALIZERS, *OPTIMIZER_TOOLS),
    *(*IMPORTED_CLASSES, *IMPORTED_MODULES),
}

# Kinds whose definitions are told apart by name alone.
_FAMILIES = ((Kind.LAYER, Kind.BLOCK), (Kind.OPTIMIZER,), (Kind.FUNCTION,))


def check_name(name: str, kind: Kind) -> None:
    """Check the form of a name.

    Raises:
        UsageError: saying what it should be, and which name may have been meant.
    """
    what = kind.name.lower()
    if kind is Kind.FUNCTION:
        pattern, expected = r"[a-z][a-z0-9]*(_[a-z0-9]+)*", "in snake case: leaky_relu"
    else:
        pattern, expected = r"[A-Z][A-Za-z0-9]*", "in upper camel case: GatedUnit"
    given = f'"{name}" cannot be the name of a {what}'
    if kind is Kind.OPTIMIZER:
        given = f'"{name}" cannot be the name of an optimizer'
    if "/" in name or "\\" in name or name.endswith(".py"):
        raise UsageError(f"{given}: expected a name {expected}, not a path")
    if not re.fullmatch(pattern, name, re.ASCII):
        close = _suggestion(name, kind)
        hint = f'; did you mean "{close}"?' if close else ""
        raise UsageError(f"{given}: expected a name {expected}{hint}")
    if len(name) > MAX_LENGTH:
        raise UsageError(f"{given}: it has more than {MAX_LENGTH} characters")
    module = module_name(name)
    for word in dict.fromkeys((name, module)):
        if keyword.iskeyword(word):
            raise UsageError(f'{given}: "{word}" is a keyword of Python')
    if kind.is_layer and name in MODULES:
        raise UsageError(f"{given}: it is a name of graph already")
    if kind is Kind.OPTIMIZER and module in OPTIMIZER_TOOLS:
        raise UsageError(f"{given}: {module} is a function of optim already")
    if name in _RESERVED:
        raise UsageError(f"{given}: it has a meaning in specs or in generated code")
    if module in _DEVICES:
        raise UsageError(f'{given}: Windows cannot hold a file called "{module}.py"')


def check_free(name: str, kind: Kind, specs: Iterable[SpecFile]) -> None:
    """Check that no definition of the kind has the name, nor one that differs in case.

    Raises:
        UsageError: naming the definition, and what may be done instead.
    """
    family = next((f for f in _FAMILIES if kind in f), (kind,))
    for file in specs:
        if SECTIONS[file.section] not in family:
            continue
        # Names with one module name differ in case alone.
        others = (n for n in names_of(file) if n.lower() == name.lower())
        other = next(others, None)
        if other is None:
            continue
        how = "exists already" if other == name else f'is too close to "{other}"'
        if file.origin:
            module = file.path.removesuffix(".py").replace("/", ".")
            hint = (
                f"it comes with {file.origin}: build on it in a spec with "
                f"`from {module} import {other}`, or copy it under another name with "
                f"--like {other}"
            )
        else:
            hint = f"edit {file.path}, or choose another name"
        raise UsageError(f'"{name}" {how}; {hint}')


def find_like(name: str, kind: Kind, specs: Iterable[SpecFile]) -> tuple[SpecFile, str]:
    """The spec of an existing definition of a kind, and its name there.

    Raises:
        UsageError: there is none, with the closest name.
    """
    family = next((f for f in _FAMILIES if kind in f), (kind,))
    known = {
        full: (file, full.rpartition(".")[2])
        for file in specs
        if SECTIONS[file.section] in family
        for full in full_names(file)
    }
    return find_named(name, known, absent=f"there is no {kind.name.lower()}")


def _suggestion(name: str, kind: Kind) -> str:
    parts = [part for part in re.split(r"[^A-Za-z0-9]+", name) if part]
    if kind is Kind.FUNCTION:
        close = "_".join(module_name(part) for part in parts)
    else:
        close = "".join(part[0].upper() + part[1:] for part in parts)
    usable = close[:1].isalpha() and not keyword.iskeyword(module_name(close))
    return close if usable else ""
