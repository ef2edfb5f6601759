"""Functions of a file that fill the weights of a layer and return it, as what the layer begins with."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.handed.layer_functions import bound_arguments
from mlax_scaffold.conversion.rows.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, replaced, without_docstring
from mlax_scaffold.conversion.source.vocabulary import BEGUN
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned

_WEIGHTS = {"weight": "kernel_initializer", "bias": "bias_initializer"}


def begun(origin: Origin, node: ast.ClassDef, layers: Collection[str]) -> None:
    """Write `layer_init(nn.Linear(4, 2), std=0.01)` as the layer with its initializers, in place."""
    fills = {n: f for n, f in origin.functions.items() if _fills(f)}
    if fills:
        _Calls(origin, fills, layers).visit(node)


class _Calls(NodeTransformer):
    def __init__(
        self,
        origin: Origin,
        fills: dict[str, ast.FunctionDef],
        layers: Collection[str],
    ):
        self.origin, self.fills, self.layers = origin, fills, layers

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = self.fills.get(getattr(node.func, "id", ""))
        known = bound_arguments(function, node) if function is not None else None
        if function is None or known is None:
            return node
        layer = known[function.args.args[0].arg]
        full = self.origin.qualified(layer.func) if isinstance(layer, ast.Call) else ""
        if full not in self.layers or not isinstance(layer, ast.Call):
            return node
        made = cloned(layer)
        for part in without_docstring(function.body)[:-1]:
            call = replaced(part.value, known)  # type: ignore[attr-defined]
            weight = _weight(part, function.args.args[0].arg)
            made.keywords.append(ast.keyword(f"{BEGUN}{_WEIGHTS[weight]}", call))
        return ast.copy_location(made, node)


def _fills(function: ast.FunctionDef) -> bool:
    """Whether a function only fills weights of its first argument, and returns it."""
    body = without_docstring(function.body)
    if len(body) < 2 or not function.args.args:
        return False
    layer = function.args.args[0].arg
    *calls, last = body
    returns = isinstance(last, ast.Return) and is_name(last.value, layer)
    return returns and all(_weight(part, layer) in _WEIGHTS for part in calls)


def _weight(node: ast.stmt, layer: str) -> str:
    """Which weight of a layer a statement fills; "": it does something else."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    place = call.args[0] if call.args else None
    if isinstance(place, ast.Attribute) and place.attr == "data":
        place = place.value
    known = call.func.attr in IN_PLACE and isinstance(place, ast.Attribute)
    if known and is_name(place.value, layer):  # type: ignore[union-attr]
        return place.attr  # type: ignore[union-attr]
    return ""
