"""What documentation says of the shape of what `setup` declares."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.expressions import Expression
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.render.text import lower_first


@dataclass(frozen=True)
class Shape:
    """One of the shapes that there may be."""

    text: str
    is_code: bool
    """Whether it is an expression of hyperparameters; else what the function says that computes it."""


def shapes(definition: Definition, expression: Expression) -> tuple[Shape, ...]:
    """The shape that an expression of `setup` is; several where a function of the spec decides."""
    tree = definition.expanded(expression).bare
    docs = {h.name: h.doc for h in definition.helpers if h.kind == "function"}
    docs |= {m.name: m.doc for m in definition.methods}
    if not _calls(tree, docs):
        return (Shape(unparsed(tree), True),)
    found = dict.fromkeys(_shape(leaf, docs) for leaf in _leaves(tree))
    return tuple(sorted(found, key=lambda shape: not shape.is_code))


def shape_text(definition: Definition, expression: Expression) -> str:
    """The same as plain text."""
    return ", or ".join(shape.text for shape in shapes(definition, expression))


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from _leaves(node.body)
        yield from _leaves(node.orelse)
    else:
        yield node


def _shape(leaf: ast.expr, docs: Mapping[str, str]) -> Shape:
    match leaf:
        case ast.Call(func=ast.Name(id=name)) if docs.get(name):
            said = docs[name].strip().split("\n\n")[0]
            return Shape(lower_first(" ".join(said.split())).rstrip("."), False)
    return Shape(unparsed(leaf), True)


def _calls(node: ast.expr, names: Mapping[str, str]) -> bool:
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Name)
        and part.func.id in names
        for part in ast.walk(node)
    )
