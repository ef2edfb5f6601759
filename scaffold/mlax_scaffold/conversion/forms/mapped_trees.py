"""Functions mapped over a tree of a few arrays, `jax.tree.map(f, (q, k))`, as the tree of their results."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.partial_maps import MAPS
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import replaced
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, located

_TREES = ("params", "weights", "grads", "updates", "state", "states", "variables")
"""Names of what holds several arrays itself."""


def without_mapped_trees(origin: Origin) -> None:
    """Write them out in place: what is known of shapes goes through them."""
    if origin.uses("jax") and not origin.uses("optax"):
        _Maps(origin).visit(origin.tree)
        located(origin.tree)


class _Maps(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self.origin.qualified(node.func) not in MAPS or node.keywords:
            return node
        match node.args:
            case [ast.Lambda() | ast.Name() as function, *trees] if trees:
                made = _mapped(function, trees)
                return node if made is None else ast.copy_location(made, node)
        return node


def _mapped(function: ast.expr, trees: list[ast.expr]) -> ast.expr | None:
    """The tree of what a function makes of these; None where some is no literal, or no array."""
    first = trees[0]
    if not isinstance(first, ast.Tuple | ast.List):
        return None
    elements: list[list[ast.expr]] = []
    for tree in trees:
        if type(tree) is not type(first):
            return None
        elements.append(tree.elts)  # type: ignore[attr-defined]
    if len({len(e) for e in elements}) > 1 or not elements[0]:
        return None
    made: list[ast.expr] = []
    for group in zip(*elements, strict=True):
        if all(isinstance(g, ast.Tuple | ast.List) for g in group):
            inner = _mapped(function, list(group))
        elif all(isinstance(g, ast.Name) and g.id not in _TREES for g in group):
            inner = _applied(function, list(group))
        else:
            return None
        if inner is None:
            return None
        made.append(inner)
    return type(first)(made, ast.Load())


def _applied(function: ast.expr, given: list[ast.expr]) -> ast.expr | None:
    if not isinstance(function, ast.Lambda):
        return ast.Call(cloned(function), given, [])
    places = function.args
    if len(places.args) != len(given) or places.defaults or places.vararg:
        return None
    known = dict(zip([a.arg for a in places.args], given, strict=True))
    return replaced(cloned(function.body), known)
