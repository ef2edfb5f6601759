"""Optimizers that are written as functions which return two others, as those of optax are, as classes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.remedies.schedules import (
    defaults_of,
    field_of,
    name_bound,
    shifted,
    titled,
)
from mlax_scaffold.reader.source import Source

_RETURNED = ("GradientTransformation", "GradientTransformationExtraArgs")


def optimizer_class(source: Source, function: ast.FunctionDef) -> Fix | None:
    """A function that returns `init` and `update` as a class with these methods.

    None where a parameter is another thing in the body, or where `init` reads what is computed before it.
    """
    body = function.body
    documented = ast.get_docstring(function, clean=False) is not None
    match body[documented:]:
        case [
            *before,
            ast.FunctionDef() as begin,
            ast.FunctionDef() as update,
            ast.Return(value=ast.expr() as returned),
        ] if _returns(returned, begin, update):
            pass
        case _:
            return None
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
        return None
    parameters = [*arguments.args, *arguments.kwonlyargs]
    names = {a.arg for a in parameters}
    if any(name_bound(n) in names for s in body for n in walk(s)):
        return None
    computed = {name for s in before for name in _bound(s)}
    read = {n.id for n in walk(begin) if isinstance(n, ast.Name)}
    if computed & read or not (begin.args.args and update.args.args[1:]):
        return None
    defaults = defaults_of(arguments)
    fields = [
        field_of(source, a, defaults.get(a.arg), function.body) for a in parameters
    ]
    base = word(source, "Optimizer")
    needed: list[Needed] = [base]
    if any(": Scheduled" in line for line in fields):
        needed.append(word(source, "Scheduled"))
    lines = [f"class {titled(function.name)}({base.bound}):"]
    if documented:
        lines += [f"    {source.text_of(body[0])}", ""]
    lines += [*(f"    {line}" for line in fields), *([""] if fields else [])]
    lines += _method(source, "init", begin, (), names)
    lines += ["", *_method(source, "update", update, before, names)]
    start = min(d.lineno for d in (function, *function.decorator_list))
    edit = source.replace((start, 1), source.end(function), "\n".join(lines))
    return Fix((edit,), tuple(needed))


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds: of a function its own, and none of what is in it."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    return {name for n in walk(statement) if (name := name_bound(n))}


def _returns(node: ast.expr, begin: ast.FunctionDef, update: ast.FunctionDef) -> bool:
    """Whether an expression is the pair of both functions."""
    match node:
        case ast.Tuple(elts=[first, second]):
            pass
        case ast.Call(func=function, args=given, keywords=named):
            if ast.unparse(function).rpartition(".")[2] not in _RETURNED:
                return False
            both = [*given, *(k.value for k in named)]
            if len(both) != 2:
                return False
            first, second = both
        case _:
            return False
    both = (first, begin), (second, update)
    return all(isinstance(n, ast.Name) and n.id == f.name for n, f in both)


def _method(
    source: Source,
    name: str,
    function: ast.FunctionDef,
    before: Sequence[ast.stmt],
    names: set[str],
) -> list[str]:
    """A function as a method, without the end of names that it begins with."""
    given = ", ".join(a.arg for a in (*function.args.args, *function.args.kwonlyargs))
    body = [s for s in function.body if not isinstance(s, ast.Delete)]
    return [
        f"    def {name}(self, {given}):",
        *shifted(source, before, names),
        *shifted(source, body, names),
    ]
