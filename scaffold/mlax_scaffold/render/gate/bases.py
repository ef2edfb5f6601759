"""What a class of a rendered file may be derived from."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.model.import_time import (
    ENUMERATIONS,
    NAMED_TUPLE,
    TYPED_DICT,
    meaning,
)

_GENERIC = "._core.static.OfLayer"
"""The base that may be told a type, which is looked up when a module is imported."""
_TYPES = ("jax.Array", "tuple", "typing.Any", "._core.static.LayerOutput")
"""Names in that type."""
_BASES = (
    NAMED_TUPLE,
    TYPED_DICT,
    *ENUMERATIONS,
    "str",
    "int",
    _GENERIC,
    "._core.static.OfOptimizer",
    ".graph._block.BlockModule",
    ".graph._owning.OwningBlockModule",
    ".graph._layer.LayerModule",
    ".graph._recurrent.RecurrentModule",
)


def is_base(node: ast.expr, meanings: Mapping[str, str]) -> bool:
    """Whether an expression is such a base, by what its names stand for in the file."""
    match node:
        case ast.Subscript(value=generic, slice=given):
            return meaning(generic, meanings) == _GENERIC and _is_type(given, meanings)
    return meaning(node, meanings) in _BASES


def _is_type(node: ast.expr, meanings: Mapping[str, str]) -> bool:
    match node:
        case ast.Constant(value=value):
            return value is None or value is ...
        case ast.Tuple(elts=parts):
            pass
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            parts = [left, right]
        case ast.Subscript(value=ast.Name(id="tuple") as made, slice=inner):
            parts = [made, inner]
        case _:
            return meaning(node, meanings) in _TYPES
    return all(_is_type(part, meanings) for part in parts)
