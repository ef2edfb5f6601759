"""Sizes of layers that are given as one number, where the layer takes a sequence of them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, self_attribute

_SEVERAL = "Sequence[int]"
"""Type of the argument of words that are several sizes."""


def in_sequences(
    source: Source, maker: Definition, layers: Mapping[str, Definition]
) -> Fix | None:
    """The class with a tuple in the place of each number that a layer takes a sequence for.

    Args:
        source: the spec.
        maker: the definition that makes the layers.
        layers: the layers, by their names in the spec.
    """
    numbers = {
        h.name
        for h in maker.hyperparameters
        if h.type.word.argument == "int" and not h.type.sequence
    }
    edits = [
        source.edit(given, f"({source.text_of(given)},)")
        for part in source.tree.body
        if isinstance(part, ast.ClassDef) and part.name == maker.name
        for call in walk(part)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if (layer := layers.get(call.func.id)) is not None
        for given in _given(call, layer)
        if _is_number(given, numbers)
    ]
    return Fix(tuple(edits)) if edits else None


def _given(call: ast.Call, layer: Definition) -> list[ast.expr]:
    """What a call gives for sequences."""
    found = []
    names = [h.name for h in layer.hyperparameters]
    pairs = [
        *zip(names, call.args, strict=False),
        *((k.arg, k.value) for k in call.keywords),
    ]
    taken = {
        h.name
        for h in layer.hyperparameters
        if h.type.sequence or h.type.word.argument == _SEVERAL
    }
    for name, value in pairs:
        if isinstance(value, ast.Starred):
            break
        if name in taken:
            found.append(value)
    return found


def _is_number(node: ast.expr, fields: Collection[str]) -> bool:
    """Whether an expression is certain to be one number."""
    match node:
        case ast.Constant(value=int()):
            return True
        case ast.Attribute():
            return self_attribute(node) in fields
        case ast.BinOp(left=left, right=right):
            return _is_number(left, fields) and _is_number(right, fields)
        case ast.Call(func=ast.Name(id="int" | "len" | "max" | "min" | "round")):
            return True
    return False
