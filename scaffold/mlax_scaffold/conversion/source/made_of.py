"""What of a file something is made of."""

from __future__ import annotations

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import reached


def used_by(origin: Origin, thing: str) -> set[str]:
    """What of the file a class or a function is made of, and itself; all where the file has no such name."""
    nodes = {**origin.classes, **origin.functions}
    return reached(nodes, [thing] if thing in nodes else [*nodes])
