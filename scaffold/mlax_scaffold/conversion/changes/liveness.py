"""Which names of a function are read again after each of its statements."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.source.trees import targets
from mlax_scaffold.conversion.source.walking import walk

Live = frozenset[str]


def reads(node: ast.AST | None) -> Live:
    """The names that are read in a tree."""
    if node is None:
        return frozenset()
    return frozenset(
        n.id
        for n in walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    )


class Liveness:
    """What is read after a statement, on any way to the end of the function."""

    def __init__(self, body: list[ast.stmt]):
        self._after: dict[int, Live] = {}
        self._block(body, frozenset())

    def after(self, node: ast.stmt) -> Live:
        """The names that are read after this statement, before anything else is bound to them."""
        return self._after.get(id(node), frozenset())

    def _block(self, body: Iterable[ast.stmt], live: Live) -> Live:
        for node in reversed(list(body)):
            known = self._after.get(id(node), frozenset())
            self._after[id(node)] = known | live
            live = self._before(node, live)
        return live

    def _before(self, node: ast.stmt, live: Live) -> Live:
        match node:
            case ast.If(test=test, body=body, orelse=other):
                both = self._block(body, live) | self._block(other, live)
                return both | reads(test)
            case ast.For(target=target, iter=iterated, body=body, orelse=other):
                end = self._block(other, live)
                inner = self._again(body, end, frozenset(targets(target)))
                return inner | end | reads(iterated)
            case ast.While(test=test, body=body, orelse=other):
                end = self._block(other, live) | reads(test)
                return self._again(body, end, frozenset()) | end
            case ast.With(items=items, body=body):
                inner = self._block(body, live)
                return inner.union(*(reads(i.context_expr) for i in items))
            case ast.Return(value=value):
                return reads(value)
            case ast.Raise():
                return reads(node)
            case ast.AugAssign(target=ast.Name(id=local)):
                return live | reads(node.value) | {local}
            case ast.FunctionDef():
                return (live - {node.name}) | reads(node)
        return (live - set(targets(node))) | reads(node)

    def _again(self, body: list[ast.stmt], end: Live, bound: Live) -> Live:
        """What is read from the start of a loop's body on, which is run again and again."""
        inner = self._block(body, end) - bound
        return self._block(body, end | inner) - bound
