"""Locals of a constructor that are a number for a while: `channels = 3`, and other sizes after it.

What is declared while such a name is a literal number is declared with the number.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import expression, is_name, replaced
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


def sizes_of(start: ast.FunctionDef) -> dict[str, ast.expr]:
    """The locals that are bound once, to a number, or to a size that is computed of parameters."""
    counts = _counts(start)
    given = [a.arg for a in (*start.args.args[1:], *start.args.kwonlyargs)]
    known: dict[str, ast.expr] = {
        g: expression(f"self.{g}") for g in given if not counts.get(g)
    }
    found: dict[str, ast.expr] = {}
    for part in start.body:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value) if counts[
                local
            ] == 1 and _is_size(value, {*known, *found}):
                found[local] = replaced(value, {**known, **found})
    return found


def _is_size(node: ast.expr, known: set[str]) -> bool:
    """Whether a value is arithmetic of whole numbers."""
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.Name(id=local):
            return local in known
        case ast.BinOp(
            left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv(), right=right
        ):  # fmt: skip
            return _is_size(left, known) and _is_size(right, known)
    return False


def with_literal_locals(node: ast.ClassDef) -> None:
    """Write the numbers of those that are bound again later, in place."""
    for start in node.body:
        if isinstance(start, ast.FunctionDef) and start.name == "__init__":
            again = {n for n, count in _counts(start).items() if count > 1}
            _Numbers(again).block(start.body)
            start.body = _without_unread(start)


def _counts(start: ast.FunctionDef) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in walk(start):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found[part.id] = found.get(part.id, 0) + 1
    return found


def _stored(body: list[ast.stmt]) -> set[str]:
    return {
        p.id
        for s in body
        for p in walk(s)
        if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)
    }


class _Numbers(NodeTransformer):
    def __init__(self, again: set[str]):
        self.again = again
        self.known: dict[str, ast.Constant] = {}

    def block(self, body: list[ast.stmt]) -> None:
        for part in body:
            self._statement(part)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.If():
                node.test = self.visit(node.test)
                before = dict(self.known)
                self.block(node.body)
                self.known = dict(before)
                self.block(node.orelse)
                self.known = before
                self._forget(_stored([node]))
            case ast.For() | ast.While() | ast.With() | ast.Try() | ast.FunctionDef():
                if isinstance(node, ast.For):
                    node.iter = self.visit(node.iter)
                self._forget(_stored([node]))
                before = dict(self.known)
                for field in ("body", "orelse"):
                    self.block(getattr(node, field, []))
                self.known = before
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Constant(value=v)):
                self._forget({local})
                if type(v) is int and local in self.again:
                    assert isinstance(node.value, ast.Constant)
                    self.known[local] = node.value
            case _:
                if isinstance(node, ast.AugAssign):
                    node.value = self.visit(node.value)
                else:
                    self.visit(node)
                self._forget(_stored([node]))

    def _forget(self, titles: set[str]) -> None:
        for title in titles:
            self.known.pop(title, None)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self.known.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return ast.copy_location(cloned(known), node) if known else node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.ListComp:
        saved = dict(self.known)
        self._forget(_stored([ast.Expr(node)]))
        self.generic_visit(node)
        self.known = saved
        return node


def _without_unread(start: ast.FunctionDef) -> list[ast.stmt]:
    """The statements without numbers that are bound and not read before they are bound again."""
    body = start.body
    kept: list[ast.stmt] = []
    for at, part in enumerate(body):
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)], value=ast.Constant(value=int())
            ):
                if not _is_read(body[at + 1 :], local):
                    continue
        kept.append(part)
    return kept


def _is_read(body: list[ast.stmt], local: str) -> bool:
    for part in body:
        loads = any(
            is_name(p, local) and isinstance(p.ctx, ast.Load | ast.Del)  # type: ignore[attr-defined]
            for p in walk(part)
        )
        if loads or (isinstance(part, ast.AugAssign) and is_name(part.target, local)):
            return True
        if isinstance(part, ast.Assign) and is_name(part.targets[0], local):
            return False
    return False
