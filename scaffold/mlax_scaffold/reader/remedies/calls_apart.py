"""Calls of methods that set something of a step, in statements of their own."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from itertools import count

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, self_attribute

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)
_SOMETIMES = (
    *(ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
"""What may leave an operand out, or take it more than once."""


def call_apart(
    source: Source, sets: Mapping[str, Collection[str | None]]
) -> Fix | None:
    """The first call of such a method inside of an expression, by a name before its statement.

    A choice between the call and something else is written as `if` and `else`. None where there
    is none, or where the statement would read something else than before.

    Args:
        source: the spec.
        sets: the attributes that each method sets.
    """
    for statement in _simple(source.tree):
        for node in walk(statement):
            match node:
                case ast.Call(func=called) if (name := self_attribute(called)) in sets:
                    if not _stands_alone(statement, node):
                        return _apart(source, statement, node, sets[name or ""])
    return None


def _simple(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in walk(tree):
        if isinstance(node, _SIMPLE):
            yield node


def _stands_alone(statement: ast.stmt, call: ast.Call) -> bool:
    whole = isinstance(statement, ast.Assign | ast.Expr)
    return whole and statement.value is call


def _apart(
    source: Source, statement: ast.stmt, call: ast.Call, sets: Collection[str | None]
) -> Fix | None:
    indent = "\n" + " " * statement.col_offset
    value = getattr(statement, "value", None)
    match value:
        case ast.IfExp(test=test, body=yes, orelse=no) if not any(
            n is call for n in walk(test)
        ):
            before = source.between(source.start(statement), source.start(value))
            if isinstance(statement, ast.AugAssign) or before[-1:] == "(":
                return None
            chosen = (
                f"if {source.text_of(test)}:{indent}    {before}{source.text_of(yes)}"
            )
            other = f"else:{indent}    {before}{source.text_of(no)}"
            return Fix((source.edit(statement, f"{chosen}{indent}{other}"),))
    parents = {c: p for p in walk(statement) for c in ast.iter_child_nodes(p)}
    above: list[ast.AST] = [call]
    while above[-1] is not statement:
        above.append(parents[above[-1]])
    inside = {*walk(call)}
    read = {self_attribute(n) for n in walk(statement) if n not in inside}
    if any(isinstance(n, _SOMETIMES) for n in above) or read & {*sets}:
        return None
    name = _free(source.tree)
    first = source.insert(statement, f"{name} = {source.text_of(call)}{indent}")
    return Fix((first, source.edit(call, name)))


def _free(tree: ast.Module) -> str:
    taken = {n.id for n in walk(tree) if isinstance(n, ast.Name)}
    names = ("result" if n == 1 else f"result_{n}" for n in count(1))
    return next(name for name in names if name not in taken)
