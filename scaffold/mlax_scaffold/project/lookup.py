"""Finds definitions, and specs, by the names that people give: `Linear`, or `nn.Linear`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from mlax_scaffold.errors import UsageError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.project.workspace import Workspace, names_of
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.spelling import did_you_mean

T = TypeVar("T")


def find_named(
    name: str,
    known: Mapping[str, T],
    *,
    absent: str = "there is no",
    last: str = "`mlax-scaffold list` shows what there is",
    preferred: str = "",
) -> T:
    """What a name stands for.

    Args:
        name: as it was given.
        known: everything, by full names such as `nn.Linear`.
        absent: how to say that there is none.
        last: what to say where no name is close.
        preferred: the section that is meant where several have the name.

    Raises:
        UsageError: there is none, or there are several.
    """
    found = [full for full in known if name in (full, full.rpartition(".")[2])]
    if len(found) == 1:
        return known[found[0]]
    if f"{preferred}.{name}" in found:
        return known[f"{preferred}.{name}"]
    if found:
        raise UsageError(f'"{name}" may be {" and ".join(found)}: write one of these')
    raise UsageError(f'{absent} "{name}"; {_close(name, known) or last}')


def find_definition(
    workspace: Workspace, name: str, definitions: Iterable[Definition]
) -> Definition:
    """The definition of a name.

    Raises:
        UsageError: there is none, or there are several.
    """
    known = {str(d.reference): d for d in definitions}
    others = {
        full: file
        for file in workspace.built_in
        for full in full_names(file)
        if full not in known
    }
    if not any(name in (full, d.name) for full, d in known.items()):
        for full, file in others.items():
            if name in (full.rpartition(".")[2], full):
                raise UsageError(
                    f'"{name}" comes with {file.origin}, but no spec of this project is '
                    "built on it, so it is not part of the package. One that imports it is: "
                    f"from {_module(file)} import {full.rpartition('.')[2]}"
                )
    last = _close(name, others) or "`mlax-scaffold list` shows what there is"
    return find_named(name, known, last=last)


def _module(file: SpecFile) -> str:
    return file.path.removesuffix(".py").replace("/", ".")


def full_name(file: SpecFile) -> str:
    """`nn.Linear`."""
    return full_names(file)[0]


def full_names(file: SpecFile) -> list[str]:
    """That of each definition of a spec."""
    return [f"{file.section}.{name}" for name in names_of(file)]


def _close(name: str, known: Iterable[str]) -> str:
    short = {full.rpartition(".")[2]: full for full in known}
    folded = {each.lower(): each for each in short}
    if name.lower() in folded:
        return f'did you mean "{folded[name.lower()]}"?'
    return did_you_mean(name, [*short, *short.values()])
