"""Finds definitions by the names that people give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlax_scaffold.errors import UsageError, did_you_mean
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.project.workspace import Workspace, name_in


def find_definition(
    workspace: Workspace, name: str, definitions: Iterable[Definition]
) -> Definition:
    """The definition called `Linear`, or `nn.Linear` where several have the name.

    Raises:
        UsageError: there is none, or there are several.
    """
    known = list(definitions)
    found = [d for d in known if name in (d.name, str(d.reference))]
    if len(found) == 1:
        return found[0]
    if found:
        several = " and ".join(str(d.reference) for d in found)
        raise UsageError(f'"{name}" may be {several}: write one of these')
    for file in workspace.built_in:
        if name in (name_in(file), f"{file.section}.{name_in(file)}"):
            raise UsageError(
                f'"{name}" comes with {file.origin}, but no spec of this project is '
                "built on it, so it is not part of the package"
            )
    raise UsageError(f'there is no "{name}"; {_hint(name, known)}')


def _hint(name: str, known: Sequence[Definition]) -> str:
    folded = {d.name.lower(): d.name for d in known}
    if name.lower() in folded:
        return f'did you mean "{folded[name.lower()]}"?'
    names = [*(d.name for d in known), *(str(d.reference) for d in known)]
    return did_you_mean(name, names) or "`mlax-scaffold list` shows what there is"
