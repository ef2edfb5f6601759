"""Faults of a module, by its syntax tree. Each changes one place of one function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from tests.benchmarks.faults import operators, other_operators
from tests.benchmarks.faults.nodes import Change

Operators = Literal["usual", "other"]
_OPERATORS: dict[Operators, Callable[..., Iterator[Change]]] = {
    "usual": operators.changes,
    "other": other_operators.changes,
}
_SKIPPED = ("apply", "outline")
"""Methods that every layer shares."""


@dataclass(frozen=True)
class Fault:
    """One change of a module.

    `path` is the module's file, `function` the function it is in, and `line` where it is; `before`
    and `after` are the changed expression or statement. It is the fault of number `index` of those `by`
    a set of operators.
    """

    path: str
    kind: str
    function: str
    line: int
    before: str
    after: str
    index: int
    by: Operators = "usual"

    def __str__(self) -> str:
        return f"{self.path}:{self.line} [{self.kind}] {self.before}  ->  {self.after}"


def faults(path: str, source: str, by: Operators = "usual") -> Iterator[Fault]:
    """All faults of a module, in order."""
    for index, (kind, function, node, other) in enumerate(
        _changes(ast.parse(source), by)
    ):
        yield Fault(
            path,
            kind,
            function,
            getattr(node, "lineno", 0),
            _text(node),
            _text(other),
            index,
            by,
        )


def planted(source: str, index: int, by: Operators = "usual") -> ast.Module:
    """The tree of a module with the fault of that index."""
    tree = ast.parse(source)
    for i, (_, _, node, other) in enumerate(_changes(tree, by)):
        if i == index:
            _Replace(node, other).visit(tree)
            return ast.fix_missing_locations(tree)
    raise IndexError(index)


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, other: ast.AST) -> None:
        self.node, self.other = node, other

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.node:
            return ast.copy_location(self.other, node)
        return super().visit(node)


def _changes(
    tree: ast.Module, by: Operators
) -> list[tuple[str, str, ast.AST, ast.AST]]:
    found = []
    for function in _functions(tree):
        for node, parents in _nodes(function):
            for kind, other in _OPERATORS[by](node, parents):
                if _text(other) != _text(node):
                    found.append((kind, function.name, node, other))
    return found


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        match node:
            case ast.FunctionDef():
                yield node
            case ast.ClassDef(body=body):
                for item in body:
                    if isinstance(item, ast.FunctionDef) and item.name not in _SKIPPED:
                        yield item


def _nodes(
    function: ast.FunctionDef,
) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """The nodes of a body with those around them, without what an error says and annotations."""

    def walk(
        node: ast.AST, parents: tuple[ast.AST, ...]
    ) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
        if isinstance(node, ast.Raise):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        yield node, parents
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "args") and isinstance(
                node, ast.FunctionDef | ast.AnnAssign | ast.arg
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, (*parents, node))

    yield function, ()
    for default in (*function.args.defaults, *function.args.kw_defaults):
        if default is not None:
            yield default, (function.args,)
    for statement in function.body:
        yield from walk(statement, (function,))
