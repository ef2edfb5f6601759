"""Arrays that are indexed by a tuple of one, `table[(x,)]`, and that get axes before all others.

The former is `table[x]`; `jnp.expand_dims(w, axis=range(x.ndim - 1))` is `w` where it is computed with.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk


def without_single_indices(origin: Origin) -> None:
    """Write them so, in place."""
    for part in walk(origin.tree):
        match part:
            case ast.Subscript(
                value=ast.Name() | ast.Attribute() | ast.Subscript(),
                slice=ast.Tuple(elts=[ast.Name() as index]),
            ):
                part.slice = index
    _Prepended(origin).visit(origin.tree)


class _Prepended(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self.origin.qualified(node.func) != "jax.numpy.expand_dims" or not node.args:
            return node
        axes = [k.value for k in node.keywords if k.arg == "axis"] or node.args[1:]
        first = axes[0] if axes else None
        match first:
            case ast.Call(func=ast.Name(id="tuple" | "list"), args=[inner]):
                first = inner
        match first:
            case ast.Call(func=func, args=[ast.BinOp(op=ast.Sub())]):
                return node.args[0] if is_name(func, "range") else node
        return node
