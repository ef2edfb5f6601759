"""What is said of fields of no one class: lists and dictionaries of arrays or layers, or one of several."""

from __future__ import annotations

from mlax_scaffold.model.definition import Declaration
from mlax_scaffold.model.places import container_of
from mlax_scaffold.render.text import sentence

_CONTAINERS = {"dict": "A dictionary", "list": "A tuple"}


def held_doc(d: Declaration) -> str:
    """What is said of a list or a dictionary of arrays."""
    first = sentence(d.doc) if d.doc else ""
    named = _CONTAINERS.get(container_of(d.members), "A tree")
    return first or f"{named} of arrays."


def held_layers_doc(d: Declaration) -> str:
    """What is said of a list or a dictionary of layers, and of one of several kinds."""
    if d.doc:
        return sentence(d.doc)
    kinds = " or ".join(r.name for r in d.references) or "layer"
    if any(m.steps for m in d.members):
        named = _CONTAINERS.get(container_of(d.members), "A tree")
        return f"{named} with an item for each {kinds}."
    return f"That of {kinds}."
