"""Checks what a definition is called."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Kind
from mlax_scaffold.model.reserved import IMPORTED_CLASSES, IMPORTED_MODULES
from mlax_scaffold.reader.remedies.names import of_module, retitled
from mlax_scaffold.reader.source import Source


def check_definition_name(
    source: Source, node: ast.ClassDef | ast.FunctionDef, kind: Kind
) -> None:
    """Report a name that the modules which are generated of a definition have for something else."""
    if node.name in IMPORTED_CLASSES and isinstance(node, ast.ClassDef):
        new = f"{node.name}{kind.name.capitalize()}"
        written = f"class {new}(...)"
    elif node.name in IMPORTED_MODULES and isinstance(node, ast.FunctionDef):
        new = f"{node.name}_function"
        written = f"def {new}(...)"
    else:
        return
    source.report(
        node,
        f"{node.name} is a name that generated modules import something else by",
        f"Give it another one: `{written}`.",
        fix=_renamed(source, node, new),
    )


def _renamed(
    source: Source, node: ast.ClassDef | ast.FunctionDef, new: str
) -> Fix | None:
    """A definition by another name, wherever the file reads it; None where that is taken."""
    edit = retitled(source, node, new)
    if new in of_module(source) or edit is None:
        return None
    bases = {*node.bases} if isinstance(node, ast.ClassDef) else set[ast.expr]()
    named = (n for n in ast.walk(source.tree) if isinstance(n, ast.Name))
    uses = (source.edit(n, new) for n in named if n.id == node.name and n not in bases)
    return Fix((edit, *uses))
