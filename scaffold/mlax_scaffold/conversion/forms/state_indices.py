"""Parts of the state of equinox that a layer reads and sets by indices of its own, as states that it keeps.

mean = state.get(self.mean)                      mean = self.mean
state = state.set(self.mean, mean + 1)           self.mean = mean + 1
return x - mean, state             becomes       return x - mean, state
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_INDEX = "equinox.nn.StateIndex"


def has_state_indices(origin: Origin) -> bool:
    """Whether classes of a file have such indices."""
    return any(
        isinstance(p, ast.Call) and origin.qualified(p.func) == _INDEX
        for p in walk(origin.tree)
    )


def with_own_states(method: ast.FunctionDef, state: str) -> list[ast.stmt]:
    """The body of a method that keeps them; what does something else with the state stays."""
    body = _Sets(state).block(method.body)
    reads = _Reads(state)
    return [reads.visit(part) for part in body]


class _Sets:
    """Writes what sets them as assignments."""

    def __init__(self, state: str):
        self.state = state

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, and those in them."""
        found: list[ast.stmt] = []
        for node in body:
            for field in ("body", "orelse"):
                inner = getattr(node, field, None)
                if isinstance(inner, list) and inner:
                    setattr(node, field, self.block(inner))
            found += self._statement(node)
        return found

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            return [node]
        sets = self._chain(node.value) if is_name(node.targets[0], self.state) else []
        later = [read for _, value in sets[1:] for read in self._read(value)]
        if not sets or {ast.unparse(index) for index, _ in sets} & {*later}:
            # What is read within one expression is as it was before that.
            return [node]
        return [
            ast.copy_location(ast.Assign([_stored(index)], value), node)
            for index, value in sets
        ]

    def _chain(self, node: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
        """What `state.set(a, x).set(b, y)` sets, in order; nothing of another expression."""
        match node:
            case ast.Call(
                func=ast.Attribute(value=before, attr="set"),
                args=[index, value],
                keywords=[],
            ) if self_attribute(index):
                if is_name(before, self.state):
                    return [(index, value)]
                earlier = self._chain(before)
                return [*earlier, (index, value)] if earlier else []
        return []

    def _read(self, node: ast.expr) -> list[str]:
        return [
            ast.unparse(part.args[0])
            for part in walk(node)
            if isinstance(part, ast.Call) and _is_read(part, self.state)
        ]


class _Reads(NodeTransformer):
    """Reads them as attributes."""

    def __init__(self, state: str):
        self.state = state

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return node.args[0] if _is_read(node, self.state) else node


def _is_read(node: ast.Call, state: str) -> bool:
    match node:
        case ast.Call(
            func=ast.Attribute(value=owner, attr="get"), args=[index], keywords=[]
        ):
            return is_name(owner, state) and self_attribute(index) is not None
    return False


def _stored(index: ast.expr) -> ast.expr:
    assert isinstance(index, ast.Attribute)
    return ast.copy_location(ast.Attribute(index.value, index.attr, ast.Store()), index)
