"""Checks what the class of a definition is called."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Kind
from mlax_scaffold.model.reserved import IMPORTED_CLASSES
from mlax_scaffold.reader.remedies.names import of_module
from mlax_scaffold.reader.source import Source


def check_class_name(source: Source, node: ast.ClassDef, kind: Kind) -> None:
    """Report a name that the modules which are generated of a definition have for something else."""
    if node.name not in IMPORTED_CLASSES:
        return
    new = f"{node.name}{kind.name.capitalize()}"
    source.report(
        node,
        f"{node.name} is a name that generated modules import something else by",
        f"Give the class another one: `class {new}(...)`.",
        fix=_renamed(source, node, new),
    )


def _renamed(source: Source, node: ast.ClassDef, new: str) -> Fix | None:
    """A class by another name, wherever the file reads it; None where that is taken."""
    if new in of_module(source):
        return None
    line, column = source.start(node)
    start = line, column + len("class ")
    stop = line, start[1] + len(node.name)
    if source.between(start, stop) != node.name:
        return None
    bases = {*node.bases}
    named = (n for n in ast.walk(source.tree) if isinstance(n, ast.Name))
    uses = (source.edit(n, new) for n in named if n.id == node.name and n not in bases)
    return Fix((source.replace(start, stop, new), *uses))
