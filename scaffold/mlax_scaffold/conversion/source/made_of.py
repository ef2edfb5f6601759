"""What of a file something is made of."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import reached


def used_by(origin: Origin, thing: str) -> set[str]:
    """What of the file a class or a function is made of, and itself; all where the file has no such name."""
    nodes = {**origin.classes, **origin.functions}
    return reached(nodes, [thing] if thing in nodes else [*nodes])


def uncalled(origin: Origin) -> set[str]:
    """The methods of classes of the file that none of its functions reads, but those at most."""
    methods = [
        m
        for c in origin.classes.values()
        for m in c.body
        if isinstance(m, ast.FunctionDef) and not m.name.startswith("__")
    ]
    found: set[str] = set()
    while True:
        inside = {
            id(p) for m in methods if m.name in found for p in ast.walk(m) if p is not m
        }
        read = {
            p.attr
            for p in ast.walk(origin.tree)
            if isinstance(p, ast.Attribute) and id(p) not in inside
        }
        more = {m.name for m in methods} - read - found
        if not more:
            return found
        found |= more
