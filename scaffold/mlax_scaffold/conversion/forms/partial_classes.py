"""Classes of layers with arguments that a file gives once: `LinearNoBias = partial(nn.Linear, bias=False)`.

They are written out where layers are made of them, and so are initializers of jax that are given arguments,
`uniform = partial(nn.initializers.variance_scaling, 1.0, "fan_in", "uniform")`.
"""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.rows.tables.initializers import MAKERS
from mlax_scaffold.conversion.source.origin import Origin


def without_partial_classes(origin: Origin) -> None:
    """Write classes out in a file of PyTorch, and initializers in any, in place."""
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
        ast.fix_missing_locations(origin.tree)


def _is_partial(origin: Origin, node: ast.Call) -> bool:
    """Whether a call gives a class of layers some arguments by their names, or an initializer any."""
    if origin.qualified(node.func) != "functools.partial" or not node.args:
        return False
    made = node.args[0]
    if origin.qualified(made) in MAKERS:
        return True
    if not origin.uses("torch") or len(node.args) != 1:
        return False
    own = isinstance(made, ast.Name) and made.id in origin.classes
    return own or origin.qualified(made).startswith("torch.nn.")


class _Calls(ast.NodeTransformer):
    def __init__(self, found: dict[str, ast.Call]):
        self.found = found

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self.found.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return ast.copy_location(copy.deepcopy(known), node) if known else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        title = node.func.id if isinstance(node.func, ast.Name) else ""
        known = self.found.get(title)
        if known is not None:
            given = {k.arg for k in node.keywords}
            kept = [k for k in known.keywords if k.arg not in given]
            first, *more = copy.deepcopy(known.args)
            node.func = ast.copy_location(first, node.func)
            node.args = [*more, *node.args]
            node.keywords = [*copy.deepcopy(kept), *node.keywords]
        self.generic_visit(node)
        return node
