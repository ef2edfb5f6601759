"""Names of types beside the definition, as the types where they are used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.arrays import KINDS
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.source import Source, dotted, is_none

_TYPES = frozenset(
    [
        *("Any", "Array", "Callable", "Dict", "List", "Literal", "Mapping", "Optional"),
        *("PyTree", "Sequence", "Tuple", "Union", "bool", "dict", "float", "int"),
        *("list", "ndarray", "str", "tuple"),
        *KINDS,
    ]
)


def is_type(node: ast.expr) -> bool:
    """Whether an expression is certain to be a type: `Tuple[jax.Array, jax.Array]`, `Float["n"] | None`."""
    match node:
        case ast.Subscript(value=owner):
            return (dotted(owner) or "").rpartition(".")[2] in _TYPES
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return is_type(left) and (is_none(right) or is_type(right))
        case ast.Attribute() | ast.Name():
            return (dotted(node) or "").rpartition(".")[2] in _TYPES
    return False


def spelled_out(
    source: Source, name: str, statement: ast.Assign | ast.AnnAssign
) -> Fix | None:
    """The type in the place of its name; None where something else than an annotation reads that.

    Functions inside of others have no types then: these are for readers alone.
    """
    assert statement.value is not None
    text = source.text_of(statement.value)
    inner = {
        part
        for node in walk(source.tree)
        if isinstance(node, ast.FunctionDef)
        for held in node.body
        for part in walk(held)
    }
    edits: list[Edit] = [removed(source, statement)]
    told: set[ast.AST] = set()
    for owner, annotation in _annotations(source.tree):
        uses = [n for n in walk(annotation) if isinstance(n, ast.Name) and n.id == name]
        told |= set(uses)
        if uses and owner in inner:
            edits.append(_without(source, owner, annotation))
        else:
            edits += [source.edit(use, text) for use in uses]
    for node in walk(source.tree):
        match node:
            case ast.Name(id=used, ctx=ast.Load()) if used == name and node not in told:
                return None
    return Fix(tuple(edits))


def _annotations(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.expr]]:
    for node in walk(tree):
        match node:
            case ast.arg(annotation=ast.expr() as annotation):
                yield node, annotation
            case ast.AnnAssign(annotation=annotation):
                yield node, annotation
            case ast.FunctionDef(returns=ast.expr() as annotation):
                yield node, annotation


def _without(source: Source, owner: ast.AST, annotation: ast.expr) -> Edit:
    """An edit that leaves a type out."""
    if isinstance(owner, ast.arg):
        line, column = source.start(owner)
        start = line, column + len(owner.arg)
    elif isinstance(owner, ast.AnnAssign):
        start = source.end(owner.target)
    else:
        text = source.between(source.start(owner), source.start(annotation))
        return _back(source, annotation, text)
    return source.replace(start, source.end(annotation), "")


def _back(source: Source, annotation: ast.expr, text: str) -> Edit:
    """An edit that leaves out the result of a function, with the arrow before it."""
    line, column = source.start(annotation)
    gap = len(text) - text.rindex(")") - 1
    return source.replace((line, column - gap), source.end(annotation), "")
