"""Classes of layers with arguments that a file gives once: `LinearNoBias = partial(nn.Linear, bias=False)`.

They are written out where layers are made of them, and so are initializers of jax that are given arguments,
`uniform = partial(nn.initializers.variance_scaling, 1.0, "fan_in", "uniform")`.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.tables.initializers import MAKERS
from mlax_scaffold.conversion.source.free_names import bound_by
from mlax_scaffold.conversion.source.kinds import LAYERS_OF, is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_LAYERS = (*LAYERS_OF, "flax.linen.", "haiku.")


def without_partial_classes(origin: Origin) -> None:
    """Write classes and initializers out, in place."""
    found = {
        title: node.value
        for title, node in origin.assigned.items()
        if isinstance(node.value, ast.Call) and _is_partial(origin, node.value)
    }
    if found:
        calls = _Calls(found)
        for node in origin.classes.values():
            calls.visit(node)
        for function in origin.functions.values():
            calls.visit(function)
        located(origin.tree)


def _is_partial(origin: Origin, node: ast.Call) -> bool:
    """Whether a call gives a class of layers, or an initializer, some arguments."""
    if origin.qualified(node.func) != "functools.partial" or not node.args:
        return False
    made = node.args[0]
    if origin.qualified(made) in MAKERS:
        return True
    own = origin.classes.get(made.id) if isinstance(made, ast.Name) else None
    if own is not None:
        return is_layer_class(origin, own)
    return origin.qualified(made).startswith(_LAYERS)


class _Calls(NodeTransformer):
    def __init__(self, found: dict[str, ast.Call]):
        self.found = found

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        bound = bound_by(node.body)
        bound |= {a.arg for a in walk(node.args) if isinstance(a, ast.arg)}
        outside, self.found = (
            self.found,
            {title: made for title, made in self.found.items() if title not in bound},
        )
        self.generic_visit(node)
        self.found = outside
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self.found.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return ast.copy_location(cloned(known), node) if known else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        title = node.func.id if isinstance(node.func, ast.Name) else ""
        known = self.found.get(title)
        if known is not None:
            given = {k.arg for k in node.keywords}
            kept = [k for k in known.keywords if k.arg not in given]
            first, *more = cloned(known.args)
            node.func = ast.copy_location(first, node.func)
            node.args = [*more, *node.args]
            node.keywords = [*cloned(kept), *node.keywords]
        self.generic_visit(node)
        return node
