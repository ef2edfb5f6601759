"""What `x[i]` says of an input that is indexed, and of those that it is indexed with."""

from __future__ import annotations

import ast
from itertools import pairwise

from mlax_scaffold.reader.axes import operations
from mlax_scaffold.reader.axes.aliases import Alias
from mlax_scaffold.reader.axes.calls import base_of
from mlax_scaffold.reader.axes.operations import Find
from mlax_scaffold.reader.axes.sizes import Scope


def tell(
    owner: ast.expr, index: ast.expr, find: Find, reduced: Find, scope: Scope
) -> None:
    """Note it.

    Args:
        owner: what is indexed.
        index: what it is indexed with.
        find: the input that an expression has the shape of.
        reduced: the one that a local has the axes of but its last one.
        scope: what tells of weights.
    """
    match owner:
        case ast.Attribute(value=inner, attr="shape"):
            if alias := find(inner) or reduced(inner):
                operations.of_shape(alias.known, index, alias.whole)
            return
    if isinstance(index, ast.Tuple):
        _of_tuple(index, find, of_weight=bool(scope.weight(owner)))
    plain = isinstance(index, ast.Name | ast.Subscript)
    chosen = find(index) if plain or scope.weight(owner) else None
    if chosen is not None:
        chosen.known.kind = "Int"
        if isinstance(index, ast.Subscript):
            _looked_up(chosen, find(owner))
    if alias := find(owner) or reduced(owner):
        operations.indexed(alias.known, index, alias.extra)


def _of_tuple(index: ast.Tuple, find: Find, *, of_weight: bool) -> None:
    """`table[kind, senders]`: what stands there is integers, and all of it has the same axes."""
    arrays = []
    for part in index.elts:
        alias = find(base_of(part)) if of_weight or isinstance(part, ast.Name) else None
        if alias is not None:
            alias.known.kind = "Int"
            if isinstance(part, ast.Name) and not alias.extra:
                arrays.append(alias.known)
    for one, other in pairwise(arrays):
        one.follows(other, 0)
        other.follows(one, 0)


def _looked_up(chosen: Alias, rows: Alias | None) -> None:
    """`graph["nodes"][graph["senders"]]`: rows, which are not numbered as the indices are."""
    if rows is not None and rows.known is not chosen.known:
        chosen.known.has(1)
        rows.known.name_axis(0, f"num_{rows.known.name}")
