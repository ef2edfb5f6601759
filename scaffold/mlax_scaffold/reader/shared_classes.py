"""Small classes of a file with several definitions: each stands in the module of the first one that has it.

A NamedTuple that two modules had would be two classes: `lax.scan` takes none where it began with the other.
Files are not built on each other, so that the first module never imports the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mlax_scaffold.model.definition import Definition, Helper, Reference

CLASSES = ("NamedTuple", "TypedDict", "Enum")


def with_homes(
    definitions: Mapping[Reference, Definition],
) -> dict[Reference, Definition]:
    """The definitions, whose classes know the definition before them that has them too."""
    first: dict[tuple[str, str], Definition] = {}
    changed: dict[Reference, Definition] = {}

    def homed(helper: Helper, definition: Definition) -> Helper:
        if helper.kind not in CLASSES or _is_of_constants(helper, definition):
            return helper
        home = first.setdefault((definition.source, helper.name), definition)
        return helper if home is definition else replace(helper, home=home.reference)

    for definition in sorted(definitions.values(), key=_place):
        helpers = tuple(homed(helper, definition) for helper in definition.helpers)
        if helpers != definition.helpers:
            changed[definition.reference] = replace(definition, helpers=helpers)
    return {r: changed.get(r, d) for r, d in definitions.items()}


def _place(definition: Definition) -> tuple[str, int]:
    return definition.source, definition.location.line


def _is_of_constants(helper: Helper, definition: Definition) -> bool:
    """Whether importing a module computes constants of a class: then it stands beside them."""
    constants = (h for h in definition.helpers if h.kind == "constant")
    return any(helper.name in constant.names for constant in constants)
