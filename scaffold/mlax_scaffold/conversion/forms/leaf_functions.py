"""Functions that are mapped over trees, as expressions."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.source.trees import (
    Removing,
    constant,
    expression,
    literal,
    names,
    replaced,
    visited,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


@dataclass(frozen=True)
class Straight:
    """A function of straight lines: what it binds on the way, and what it returns."""

    given: list[str]
    steps: list[tuple[str, ast.expr]]
    """Locals that are read more than once, in order."""
    result: ast.expr

    def closed(self, value: ast.expr) -> ast.Lambda:
        """A value of it as a function of all that it may read."""
        places = [ast.arg(a) for a in (*self.given, *(k for k, _ in self.steps))]
        return ast.Lambda(ast.arguments([], places, None, [], [], None, []), value)


def straight(function: ast.FunctionDef) -> Straight | None:
    """A function as its steps; None where it has a loop, a condition or anything else."""
    known: dict[str, ast.expr] = {}
    steps: list[tuple[str, ast.expr]] = []
    body = without_docstring(function.body)
    for place, part in enumerate(body):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                made = called(replaced(value, known))
                if _reads(body[place + 1 :], local) > 1 and not _short(made):
                    if local in (*(k for k, _ in steps), *_given(function)):
                        return None
                    steps.append((local, made))
                    known.pop(local, None)
                else:
                    known[local] = made
            case ast.FunctionDef(name=title):
                inner = as_lambda(part)
                if inner is None or set(_given(part)) & set(known):
                    return None
                known[title] = replaced(inner, known)
            case ast.Return(value=ast.expr() as value):
                return Straight(_given(function), steps, called(replaced(value, known)))
            case _:
                return None
    return None


def as_lambda(function: ast.FunctionDef) -> ast.Lambda | None:
    """A function of straight lines as one expression."""
    made = straight(function)
    if made is None:
        return None
    result, known = made.result, dict[str, ast.expr]()
    for local, value in made.steps:
        known[local] = replaced(value, known)
    given = [ast.arg(a) for a in made.given]
    arguments = ast.arguments([], given, None, [], [], None, [])
    return ast.Lambda(arguments, called(replaced(result, known)))


def _given(function: ast.FunctionDef) -> list[str]:
    return [a.arg for a in function.args.args]


def _short(node: ast.expr) -> bool:
    """Whether a value may be written several times: a name, a literal, or a function."""
    return isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Lambda)


def _reads(body: list[ast.stmt], local: str) -> int:
    """How often statements read a local, with those that functions of theirs read for each call."""
    titles = {
        p.name: _reads(p.body, local) for p in body if isinstance(p, ast.FunctionDef)
    }
    found = 0
    for part in body:
        if isinstance(part, ast.FunctionDef):
            continue
        for inner in walk(part):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                found += (inner.id == local) + titles.get(inner.id, 0)
    return found


def returned(maker: ast.FunctionDef | None, call: ast.Call) -> ast.Lambda | None:
    """The function that a function returns where it is called; None: it returns something else."""
    whole = as_lambda(maker) if maker is not None else None
    if whole is None or not isinstance(whole.body, ast.Lambda) or call.keywords:
        return None
    made = called(ast.Call(whole, cloned(call.args), []))
    return made if isinstance(made, ast.Lambda) else None


def bare(
    function: ast.FunctionDef, known: Mapping[str, ast.expr]
) -> tuple[ast.FunctionDef, dict[str, ast.expr]]:
    """A function without types and decorators, and what it reads of the names that are known."""
    made = cloned(function)
    made.decorator_list, made.returns = [], None
    for argument in made.args.args:
        argument.annotation = None
    stored = (n for n in walk(made) if isinstance(n, ast.Name))
    hidden = {n.id for n in stored if isinstance(n.ctx, ast.Store)} | {*_given(made)}
    read = names(made) - hidden
    return made, {k: v for k, v in known.items() if k in read}


def called(node: ast.expr) -> ast.expr:
    """An expression in which calls of functions that stand in it are written out."""

    class Called(NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            func = node.func
            if not isinstance(func, ast.Lambda) or node.keywords:
                return node
            places = [a.arg for a in func.args.args]
            if len(places) != len(node.args):
                return node
            return called(
                replaced(func.body, dict(zip(places, node.args, strict=True)))
            )

    return visited(Called(), node)


def next_part(value: ast.expr) -> ast.expr:
    text = ast.unparse(value)
    return (
        expression("self.step")
        if text == "self.step - 1.0"
        else expression("v + 1", v=value)
    )


class Decided(Removing):
    """Leaves out the conditions that literals decide, such as `10.0 is not None` and `"sgd" == "adam"`."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        match node:
            case ast.Compare(
                left=ast.Constant(value),
                ops=[ast.Is() | ast.IsNot() as operator],
                comparators=[ast.Constant(value=None)],
            ):
                return constant((value is None) == isinstance(operator, ast.Is))
            case ast.Compare(
                left=ast.Constant(str() | int() | float() as value),
                ops=[ast.Eq() | ast.NotEq() as operator],
                comparators=[ast.Constant(str() | int() | float() as other)],
            ):
                return constant((value == other) == isinstance(operator, ast.Eq))
        self.generic_visit(node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        truth = literal(node.operand)
        if isinstance(node.op, ast.Not) and isinstance(truth, bool):
            return ast.copy_location(constant(not truth), node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        neutral = isinstance(node.op, ast.And)
        node.values = [v for v in node.values if literal(v) is not neutral]
        if any(literal(v) is (not neutral) for v in node.values[:1]):
            return constant(not neutral)
        if len(node.values) > 1:
            return node
        return node.values[0] if node.values else constant(neutral)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node
