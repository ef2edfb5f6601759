"""The functions that a definition offers, as one would call them."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project
from mlax_scaffold.render.signatures import signatures


def calls(definition: Definition, library: Library, project: Project) -> list[str]:
    """One line for each function, with its full name."""
    prefix = f"{project.package}.{definition.section}"
    found = [signature.call for signature in signatures(definition, library)]
    match definition.kind:
        case Kind.SCHEDULE:
            return [f"{prefix}.{found[0]}(step)"]
        case Kind.FUNCTION:
            return [f"{prefix}.{found[0]}"]
    return [f"{prefix}.{definition.name}.{call}" for call in found]
