"""Loops in loops that make layers: written out where they go over literals, else as one loop."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, names, targets, with_names
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_MOST = 8
"""Passes of a loop that is written out."""


def without_nested_loops(
    origin: Origin, node: ast.ClassDef, layers: Collection[str]
) -> None:
    """Change the methods of a class that make layers where they call them, in place."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__call__":
            _Loops(origin, layers).visit(method)
            located(method)


class _Loops(NodeTransformer):
    def __init__(self, origin: Origin, layers: Collection[str]):
        self.origin, self.layers = origin, layers

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.AST]:
        if self._makes(node) and (elements := _elements(node)) is not None:
            passes: list[ast.AST] = []
            for parts in elements:
                body = [with_names(cloned(s), parts) for s in node.body]
                for part in body:
                    made = self.visit(part)
                    passes += made if isinstance(made, list) else [made]
            return passes
        self.generic_visit(node)
        inner = node.body[0]
        if len(node.body) != 1 or not isinstance(inner, ast.For) or inner.orelse:
            return node
        if not self._makes(inner) or node.orelse:
            return node
        used = {n for part in inner.body for n in names(part)}
        outer = {t for t in targets(node.target) if t in used}
        kept = [*sorted(outer), *(t for t in targets(inner.target) if t in used)]
        if not kept:
            kept = list(targets(inner.target))[:1]
        loops = [ast.comprehension(n.target, n.iter, [], 0) for n in (node, inner)]
        element = ast.Tuple([ast.Name(k, ast.Load()) for k in kept], ast.Load())
        bound = ast.Tuple([ast.Name(k, ast.Store()) for k in kept], ast.Store())
        if len(kept) == 1:
            one = ast.ListComp(element.elts[0], loops)
            return ast.For(bound.elts[0], one, inner.body, [], lineno=node.lineno)
        made = ast.ListComp(element, loops)
        return ast.For(bound, made, inner.body, [], lineno=node.lineno)

    def _makes(self, node: ast.AST) -> bool:
        """Whether layers are made in it."""
        return any(
            isinstance(part, ast.Call)
            and (
                self.origin.qualified(part.func) in self.layers
                or getattr(part.func, "id", "") in self.origin.classes
            )
            for part in walk(node)
        )


def _elements(node: ast.For) -> list[dict[str, ast.expr]] | None:
    """What the names of a loop over literals stand for in each pass; None for other loops.

    One over plain numbers, which nothing within goes on to loop over, stays a loop.
    """
    source, target = node.iter, node.target
    index: ast.expr | None = None
    if isinstance(source, ast.Call) and is_name(source.func, "enumerate"):
        if not isinstance(target, ast.Tuple) or len(source.args) != 1:
            return None
        index, target = target.elts
        source = source.args[0]
    if not isinstance(source, ast.List | ast.Tuple) or len(source.elts) > _MOST:
        return None
    bound = set(targets(target))
    nested = any(
        isinstance(part, ast.For) and names(part.iter) & bound
        for statement in node.body
        for part in walk(statement)
    )
    if not nested or node.orelse:
        return None
    found: list[dict[str, ast.expr]] = []
    for number, element in enumerate(source.elts):
        parts: dict[str, ast.expr] = {}
        if isinstance(index, ast.Name):
            parts[index.id] = ast.Constant(number)
        if isinstance(target, ast.Name):
            parts[target.id] = element
        elif (
            isinstance(target, ast.Tuple)
            and isinstance(element, ast.Tuple | ast.List)
            and len(target.elts) == len(element.elts)
        ):
            pairs = zip(target.elts, element.elts, strict=True)
            parts |= {t.id: e for t, e in pairs if isinstance(t, ast.Name)}
        else:
            return None
        found.append(parts)
    return found
