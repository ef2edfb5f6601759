"""Tells whether an update of one weight counts steps, by an integer then: for an index, or to compare it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.source import Source, self_attribute

_DEPTH = 4
"""So many locals are looked into, one in the other."""


def counts_steps(method: ast.FunctionDef) -> bool:
    """Whether `self.step_number` is an index or is compared, and nowhere becomes a floating number."""

    def counts(node: ast.AST, depth: int = 0) -> bool:
        parts = [*_of_a_number(node)]
        if any(isinstance(p, ast.expr) and _is_number(p) for p in parts):
            return True
        names = [p.id for p in parts if isinstance(p, ast.Name)]
        values = [v for name in names for v in only_value(name, method)]
        return depth < _DEPTH and any(counts(v, depth + 1) for v in values)

    counted = False
    for node in walk(method):
        match node:
            case ast.Subscript(slice=index):
                counted = counted or counts(index)
            case ast.Compare(left=left, comparators=others):
                counted = counted or any(map(counts, (left, *others)))
            case ast.BinOp(left=left, op=ast.Pow() | ast.Div(), right=right):
                if any(_is_plain(s) and counts(s) for s in (left, right)):
                    return False
    return counted


def _of_a_number(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression, without those that only decide: a comparison is no number."""
    if isinstance(node, ast.Compare):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _of_a_number(child)


def check_periods(source: Source, method: ast.FunctionDef) -> None:
    """Report periods and places that the floating number of the step tells.

    As in `self.step % 3 == 0` and `self.norms.at[(self.step - 1) % 10]`.
    """
    periods: dict[ast.Attribute | ast.Name, ast.expr] = {}
    for node in walk(method):
        match node:
            case ast.Compare(left=left, comparators=others):
                for part in (p for s in (left, *others) for p in _inner(s, method)):
                    if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
                        periods |= dict.fromkeys(_steps(part.left, method), part)
            case ast.Subscript(slice=index):
                periods |= dict.fromkeys(_steps(index, method), index)
    for step, node in periods.items():
        source.report(
            node if step in walk(node) else step,
            f"`{unparsed(node)}` is wrong after 256 steps of bfloat16, which has no 257",
            "Write `self.step_number`, the same as an integer.",
            fix=Fix((source.edit(step, "self.step_number"),)),
        )


def _steps(
    node: ast.expr, method: ast.FunctionDef
) -> Iterator[ast.Attribute | ast.Name]:
    """Where the floating number of the step is read, or a local that is it and is read elsewhere, too."""
    names = [p for p in _of_a_number(node) if isinstance(p, ast.Name)]
    shared = [n for n in names if _is_step(n, method) and _is_read_beside(n, method)]
    yield from shared
    ids = {n.id for n in shared}
    own = [p for p in _of_a_number(node) if not isinstance(p, ast.Name)]
    own += [n for n in names if n.id not in ids]
    for part in own:
        inner = [part] if not isinstance(part, ast.Name) else _inner(part, method)
        for read in inner:
            if isinstance(read, ast.Attribute) and self_attribute(read) == "step":
                yield read


def _is_step(name: ast.Name, method: ast.FunctionDef) -> bool:
    """Whether a local is the number of the step, under another name."""
    return [self_attribute(v) for v in only_value(name.id, method)] == ["step"]


def _is_read_beside(name: ast.Name, method: ast.FunctionDef) -> bool:
    """Whether a local is read at another place of a method, too."""
    return any(
        isinstance(n, ast.Name) and n.id == name.id and n is not name
        for n in walk(method)
        if isinstance(getattr(n, "ctx", None), ast.Load)
    )


def _inner(node: ast.AST, method: ast.FunctionDef, depth: int = 0) -> Iterator[ast.AST]:
    """The parts of a number, and those of the locals that it reads."""
    parts = [*_of_a_number(node)]
    yield from parts
    for name in (p.id for p in parts if isinstance(p, ast.Name)):
        for value in only_value(name, method) if depth < _DEPTH else ():
            yield from _inner(value, method, depth + 1)


def _is_number(node: ast.expr) -> bool:
    return self_attribute(node) == "step_number"


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression takes no item of anything."""
    return not any(isinstance(n, ast.Subscript) for n in walk(node))
