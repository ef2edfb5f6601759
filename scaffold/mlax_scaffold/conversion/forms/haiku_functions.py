"""Functions of haiku, which make their layers themselves, as classes."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.forms.number_inputs import numbers_of, without
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, replaced
from mlax_scaffold.conversion.source.walking import cloned, located


def transformed(
    origin: Origin, node: ast.AST | None, of_haiku: Callable[[Origin, ast.AST], bool]
) -> ast.ClassDef | None:
    """The class that a function of haiku, which makes its layers itself, stands for.

    Numbers and tuples that it may be given are hyperparameters.
    """
    if not isinstance(node, ast.FunctionDef) or not of_haiku(origin, node):
        return None
    call = cloned(node)
    call.name = "__call__"
    call.decorator_list = []
    numbers = [
        (a, d)
        for a, d in numbers_of(call, tuples=True)
        if a in call.args.args[1:] or a in call.args.kwonlyargs
    ]
    for argument, _ in numbers:
        without(call, argument.arg)
    parts = {a.arg: expression(f"self.{a.arg}") for a, _ in numbers}
    if parts:
        call.body = [replaced(part, parts) for part in call.body]  # type: ignore[arg-type, misc]
    call.args.args = [ast.arg("self"), *call.args.args]
    body: list[ast.stmt] = [call]
    if numbers:
        body.insert(0, _start(numbers))
    if text := ast.get_docstring(node):
        body.insert(0, ast.Expr(ast.Constant(text)))
    made = ast.ClassDef(node.name, [], [], body, [])
    return located(ast.copy_location(made, node))


def _start(numbers: list[tuple[ast.arg, ast.expr]]) -> ast.FunctionDef:
    """A constructor that keeps what it is given."""
    given = [ast.arg(a.arg, a.annotation) for a, _ in numbers]
    arguments = ast.arguments(
        [], [ast.arg("self")], None, given, [d for _, d in numbers], None, []
    )
    kept: list[ast.stmt] = [
        ast.Assign(
            [ast.Attribute(ast.Name("self", ast.Load()), a.arg, ast.Store())],
            ast.Name(a.arg, ast.Load()),
        )
        for a in given
    ]
    return ast.FunctionDef("__init__", arguments, kept, [], None)
