"""Which expressions change states where they are computed: what runs in one branch alone stays in it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.layers import layer_of
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.remedies.bindings import stored_in
from mlax_scaffold.reader.source import self_attribute

_DEPTH = 6
"""So many methods and layers are looked into, one in the other."""


def changes_states(scope: Scope, nodes: Iterable[ast.AST], depth: int = 0) -> bool:
    """Whether something calls a method or a layer of the class that sets states, or calls such ones."""
    if depth > _DEPTH:
        return False
    for call in (n for node in nodes for n in walk(node) if isinstance(n, ast.Call)):
        method = scope.methods.get(self_attribute(call.func) or "")
        if method is not None and _sets(scope, method, depth):
            return True
        layer = layer_of(scope, call.func) if method is None else None
        if layer is not None and layer.forward is not None:
            inner = Scope(layer.module, layer.node)
            if _sets(inner, layer.forward, depth):
                return True
    return False


def _sets(scope: Scope, method: ast.FunctionDef, depth: int) -> bool:
    stored = any("." in name for name in stored_in(method.body))
    return stored or changes_states(scope, method.body, depth + 1)
