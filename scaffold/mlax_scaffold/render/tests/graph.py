"""What the generated tests of a layer say about its module class."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition, Role
from mlax_scaffold.model.library import Library


def creation_keys(definition: Definition, library: Library) -> int | None:
    """How many arrays `init` has a key for; None where a list or a module decides."""
    count = 0
    for d in definition.declarations:
        if d.members or d.role in (Role.TRAINABLE, Role.STATE):
            count += 1
        elif d.role is Role.SUB_LAYER and d.reference is not None:
            nested = creation_keys(library[d.reference], library)
            if nested is None or (d.several and nested):
                return None
            count += nested
    return None if definition.structural() else count
