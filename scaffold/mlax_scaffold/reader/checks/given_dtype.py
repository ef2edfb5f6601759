"""Finds functions that make arrays of floats, and are given none: they have no dtype to compute in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.reader.checks.likeness import FLOATING, first_of
from mlax_scaffold.reader.checks.widening import untyped_call
from mlax_scaffold.reader.source import Source, dotted, self_attribute


def check_given_dtype(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jnp.linspace(0, 1, n)` in `def grid(n)`, where all that call it have a dtype to give."""
    given = method.args
    names = [a.arg for a in given.args]
    if _takes_more(given) or "dtype" in names or method.decorator_list:
        return
    if method.name in ("setup", "setup_tree", "forward"):
        return
    made = [
        n
        for n in ast.walk(method)
        if isinstance(n, ast.Call)
        and untyped_call(n, source.tree, imports, method, attributes)
    ]
    if not made or any(
        isinstance(n, ast.Name) and n.id == "dtype" for n in ast.walk(method)
    ):
        return
    calls = _calls(source, method)
    if not calls:
        return
    edits = [_last(source, call, "dtype=dtype") for call in made]
    edits += [_last(source, call, text) for call, text in calls]
    if names:
        edits.append(
            source.replace(
                source.end(given.args[-1]), source.end(given.args[-1]), ", dtype"
            )
        )
    else:
        line, column = source.start(method)
        column += source.text_of(method).index("(") + 1
        edits.append(source.replace((line, column), (line, column), "dtype"))
    source.report(
        made[0],
        f"`{source.text_of(made[0].func)}` makes float32, and `{method.name}` is given no array",
        f"Give `{method.name}` the dtype: `{calls[0][1]}`.",
        fix=Fix(tuple(edits)),
    )


def _takes_more(given: ast.arguments) -> bool:
    """Whether a parameter cannot be put behind the last."""
    odd = given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs
    typed = any(isinstance(a.annotation, ast.Subscript) for a in given.args)
    return bool(odd or given.defaults or typed)


def _calls(source: Source, method: ast.FunctionDef) -> list[tuple[ast.Call, str]]:
    """Each call of a function, with the dtype that it can be given; none where one has none."""
    member = any(a.arg == "self" for a in method.args.args)
    found: list[tuple[ast.Call, str]] = []
    called: set[ast.expr] = set()
    for caller in _functions(source.tree):
        for call in (n for n in ast.walk(caller) if isinstance(n, ast.Call)):
            if _name(call.func, member) != method.name:
                continue
            dtype = _dtype(caller)
            odd = any(isinstance(a, ast.Starred) for a in call.args) or call.keywords
            if dtype is None or odd:
                return []
            called.add(call.func)
            found.append((call, dtype))
    uses = [n for n in ast.walk(source.tree) if isinstance(n, ast.expr)]
    if any(n not in called and _name(n, member) == method.name for n in uses):
        return []
    return found


def _name(node: ast.expr, member: bool) -> str | None:
    return self_attribute(node) if member else dotted(node)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions and the methods of a module, without those inside of them."""
    for statement in tree.body:
        held = statement.body if isinstance(statement, ast.ClassDef) else [statement]
        yield from (s for s in held if isinstance(s, ast.FunctionDef))


def _dtype(caller: ast.FunctionDef) -> str | None:
    """The dtype that a function computes in: that of its first floating input, or what it is given."""
    given = (*caller.args.args, *caller.args.kwonlyargs)
    if any(argument.arg == "dtype" for argument in given):
        return "dtype"
    floating = first_of(given, *FLOATING)
    return f"{floating}.dtype" if floating is not None else None


def _last(source: Source, call: ast.Call, text: str) -> Edit:
    """An edit that puts an argument behind those of a call."""
    line, column = source.end(call)
    inner = source.text_of(call)[:-1].rstrip()
    comma = "" if inner.endswith(("(", ",")) else ", "
    return source.replace((line, column - 1), (line, column - 1), f"{comma}{text}")
