"""The values that locals of a method or a function stand for, where one statement tells it."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from typing import Any

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.handed import handed

_FUNCTIONS = ast.FunctionDef | ast.Lambda


def only_value(name: str, method: ast.FunctionDef) -> list[ast.expr]:
    """The value of a local that one statement binds, to another expression than itself."""
    return _only_values(method).get(name, [])


@functools.lru_cache(maxsize=64)
def _only_values(method: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    stored: set[str] = set()
    others: set[str] = set()
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in walk(method):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                (others if name in stored else stored).add(name)
            case ast.arg(arg=name):
                others.add(name)
            case ast.Assign():
                pairs += _pairs(node)
    return {
        target.id: [value]
        for target, value in pairs
        if isinstance(target, ast.Name)
        and target.id not in others
        and target.id not in {n.id for n in walk(value) if isinstance(n, ast.Name)}
    }


def bindings_of(name: str, method: ast.FunctionDef) -> list[ast.expr]:
    """All values that statements of a method give a local, `n + 1` of `n += 1`.

    None where something else binds it, too: a loop, a parameter, a part of what is taken apart.
    """
    return _bindings(method).get(name, [])


@functools.lru_cache(maxsize=64)
def _bindings(method: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    stored: Counter[str] = Counter()
    for node in walk(method):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                stored[name] += 1
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                before = ast.Name(name, ast.Load(), **_place(target))
                whole = ast.BinOp(before, op, value, **_place(node))
                found.setdefault(name, []).append(whole)
            case ast.Assign():
                for target, value in _pairs(node):
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append(value)
    return {name: made for name, made in found.items() if len(made) == stored[name]}


def _place(node: ast.expr | ast.stmt) -> dict[str, Any]:
    return {name: getattr(node, name) for name in ("lineno", "col_offset")}


def value_at(node: ast.Name, method: ast.FunctionDef) -> list[ast.expr]:
    """The value that a local has where it is read, also where several statements bind it in a row."""
    bound = _in_a_row(method).get(node.id, ())
    start = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    before = [s for s in bound if (s.end_lineno or 0, s.end_col_offset or 0) <= start]
    return only_value(node.id, method) or [s.value for s in before[-1:]]


@functools.lru_cache(maxsize=64)
def _in_a_row(method: ast.FunctionDef) -> dict[str, list[ast.Assign]]:
    """The statements that bind a local, where all of them follow each other in the body."""
    found: dict[str, list[ast.Assign]] = {}
    for statement in method.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.setdefault(name, []).append(statement)
    stored = Counter(
        n.id for n in walk(method) if isinstance(n, ast.Name) and not _is_read(n)
    )
    # What a function inside reads, it reads when it is called.
    inner = [n for n in walk(method) if isinstance(n, _FUNCTIONS) and n is not method]
    other = {
        getattr(n, "id", getattr(n, "arg", ""))
        for function in inner
        for n in walk(function)
        if isinstance(n, ast.Name | ast.arg)
    }
    return {
        name: made
        for name, made in found.items()
        if len(made) == stored[name] and name not in other
    }


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def values_of(name: str, method: ast.FunctionDef) -> list[ast.expr]:
    """The value of a local, or what a parameter of a function inside of the method is given."""
    return only_value(name, method) or handed(method).get(name, [])


def item_of(node: ast.Subscript, method: ast.FunctionDef) -> list[ast.expr]:
    """The parts of tuples that `carry[1]` stands for; none where it is of anything else."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(at))):
            tuples = values_of(name, method)
            if tuples and all(
                isinstance(t, ast.Tuple) and at < len(t.elts) for t in tuples
            ):
                return [t.elts[at] for t in tuples if isinstance(t, ast.Tuple)]
    return []


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Each target of an assignment with its value: of `a, b = c, d` both."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            if len(names) == len(values):
                return [*zip(names, values, strict=True)]
        case ast.Assign(
            targets=[ast.Tuple(elts=names)],
            value=ast.Name() | ast.Attribute(attr="shape") as whole,
        ) if not any(isinstance(n, ast.Starred) for n in names):
            # Each is an item: `b, t = x.shape`, `i, h = carry`.
            parts = [ast.Subscript(whole, ast.Constant(at)) for at in range(len(names))]
            return [*zip(names, parts, strict=True)]
        case ast.Assign(targets=[target], value=value):
            return [(target, value)]
    return []
