"""Functions that a method binds to a local name, written out where it calls them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import replaced, without_docstring
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def inlined(node: ast.ClassDef) -> None:
    """Write the lambdas of each method out where they are called, in place.

    What they make has a place in setup then, and what is known of shapes goes through them.
    """
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            _inline(method)


def _inline(method: ast.FunctionDef) -> None:
    assigned: dict[str, list[ast.Assign]] = {}
    stored: list[str] = []
    for part in walk(method):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            stored.append(part.id)
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Lambda):
            [target, *others] = part.targets
            if isinstance(target, ast.Name) and not others:
                assigned.setdefault(target.id, []).append(part)
    for name, places in assigned.items():
        made = places[0].value
        assert isinstance(made, ast.Lambda)
        if stored.count(name) != 1 or not _plain(made):
            continue
        calls = _Calls(name, made)
        calls.visit(method)
        if not calls.left:
            _without(method, places[0])
    if method.name != "__init__":
        return
    for part in list(method.body):
        # What makes the weights of an object has no place beside their declarations.
        made = _returning(part)
        if made is None or not isinstance(part, ast.FunctionDef):
            continue
        calls = _Calls(part.name, made)
        rest = [p for p in method.body if p is not part]
        method.body = [calls.visit(p) for p in rest]
        if calls.left:
            method.body.insert(0, part)


def _returning(node: ast.stmt) -> ast.Lambda | None:
    """A function that does nothing but return a value, as a lambda; None for anything else."""
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return None
    body = without_docstring(node.body)
    match body:
        case [ast.Return(value=ast.expr() as value)]:
            given = cloned(node.args)
        case _:
            return None
    if given.kwarg or given.kwonlyargs or given.posonlyargs or given.defaults:
        return None
    for argument in walk(given):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.Lambda(given, value)


def _plain(made: ast.Lambda) -> bool:
    given = made.args
    return not (given.vararg or given.kwarg or given.kwonlyargs or given.defaults)


class _Calls(NodeTransformer):
    """Writes one function out."""

    def __init__(self, name: str, made: ast.Lambda):
        self.name, self.made = name, made
        self.left = 0
        """Uses that stay."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        if node.value is not self.made:
            self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        self.left += node.id == self.name
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not isinstance(node.func, ast.Name) or node.func.id != self.name:
            self.generic_visit(node)
            return node
        node.args = [self.visit(a) for a in node.args]
        names = [a.arg for a in self.made.args.args]
        bound: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
        several = self.made.args.vararg
        if several is not None:
            rest = ast.Tuple(node.args[len(names) :], ast.Load())
            bound[several.arg], names = (
                rest,
                [*names, *(several.arg for _ in rest.elts)],
            )
        read = [
            p.id
            for p in walk(self.made.body)
            if isinstance(p, ast.Name) and p.id in bound
        ]
        # What is computed would be computed several times.
        twice = any(
            read.count(k) > 1 and not isinstance(v, ast.Name | ast.Constant | ast.Tuple)
            for k, v in bound.items()
        )
        if node.keywords or len(names) != len(node.args) or twice:
            self.left += 1
            return node
        body = _Spread().visit(replaced(cloned(self.made.body), bound))
        body = _Texts().visit(body)
        return ast.copy_location(located(body), node)


class _Spread(NodeTransformer):
    """Tuples that are spread where they stand, as what they hold."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        args: list[ast.expr] = []
        for given in node.args:
            match given:
                case ast.Starred(value=ast.Tuple(elts=parts)):
                    args += parts
                case _:
                    args.append(given)
        node.args = args
        return node


class _Texts(NodeTransformer):
    """Texts in formatted strings, as parts of these."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        parts: list[ast.expr] = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                before = parts[-1] if parts else None
                if isinstance(before, ast.Constant):
                    parts[-1] = ast.Constant(str(before.value) + inner.value)
                else:
                    parts.append(ast.Constant(inner.value))
            else:
                parts.append(part)
        if len(parts) == 1 and isinstance(parts[0], ast.Constant):
            return parts[0]
        node.values = parts
        return node


def _without(method: ast.FunctionDef, place: ast.stmt) -> None:
    for part in walk(method):
        for field in ("body", "orelse"):
            body = getattr(part, field, None)
            if isinstance(body, list) and place in body:
                body.remove(place)
                if not body and field == "body":
                    body.append(ast.Pass())
