"""Finds functions that make arrays of floats, and are given none: they have no dtype to compute in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.likeness import array_given, floating_of
from mlax_scaffold.reader.checks.ranges import ranges_without_dtype
from mlax_scaffold.reader.checks.widening import untyped_call
from mlax_scaffold.reader.named_dtypes import named_dtypes
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_WITHOUT = ("setup", "setup_tree", "forward")
"""Methods whose arguments are given."""


def check_given_dtype(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jnp.linspace(0, 1, n)` in `def grid(n)`, where all that call it have a dtype to give."""
    if method.name in _WITHOUT:
        return
    made = [
        n
        for n in walk(method)
        if isinstance(n, ast.Call)
        and untyped_call(n, source.tree, imports, method, attributes)
    ]
    made += ranges_without_dtype(source, method, imports)
    if made and named_dtypes([method], {n: i.meaning for n, i in imports.items()}):
        _check_results(source, method, made[0], imports)
        return
    handed = handed_dtype(source, method, imports) if made else None
    if handed is None:
        return
    first, edits = handed
    edits += [_last(source, call, "dtype=dtype") for call in made]
    source.report(
        made[0],
        f"`{source.text_of(made[0].func)}` makes float32, and `{method.name}` is given no array",
        f"Give `{method.name}` the dtype: `{first}`.",
        fix=Fix(tuple(edits)),
    )


def _check_results(
    source: Source,
    function: ast.FunctionDef,
    made: ast.Call,
    imports: Mapping[str, Import],
) -> None:
    """Report calls of a function that computes in a dtype that it names, and whose result nothing casts."""
    cast = [
        n.value
        for n in walk(source.tree)
        if isinstance(n, ast.Attribute) and n.attr == "astype"
    ]
    edits = []
    for caller, call in _calls(source, function):
        dtype = _dtype(source.tree, caller, imports)
        if dtype is not None and call not in cast:
            end = source.end(call)
            edits.append(source.replace(end, end, f".astype({dtype})"))
    returned = [n.value for n in walk(function) if isinstance(n, ast.Return)]
    if edits and not any(isinstance(r, ast.Tuple) for r in returned):
        source.report(
            made,
            f"`{function.name}` computes in a dtype that it names, and nothing casts what it returns",
            "Cast it where it is called: to the dtype of the input.",
            fix=Fix(tuple(edits)),
        )


def handed_dtype(
    source: Source, method: ast.FunctionDef, imports: Mapping[str, Import]
) -> tuple[str, list[Edit]] | None:
    """The edits that hand a function the dtype, and those that call it and have none themselves.

    The text is what the first call of it hands on. None where one of them cannot take it.
    """
    pending, seen = [method], [method]
    edits: list[Edit] = []
    first = ""
    while pending:
        function = pending.pop(0)
        calls = _calls(source, function)
        if not calls or not _takes_dtype(function):
            return None
        edits.append(_with_parameter(source, function))
        for caller, call in calls:
            dtype = _dtype(source.tree, caller, imports)
            if dtype is None and caller not in seen:
                pending.append(caller)
                seen.append(caller)
            given = dtype or "dtype"
            by_name = call.keywords or _by_name(function)
            edits.append(_last(source, call, f"dtype={given}" if by_name else given))
            first = first or dtype or "dtype"
    return first, edits


def _takes_dtype(function: ast.FunctionDef) -> bool:
    """Whether a function can have a parameter for the dtype behind its others."""
    if function.name in _WITHOUT:
        return False
    if function.decorator_list and not _is_static(function):
        return False
    names = {n.id for n in walk(function) if isinstance(n, ast.Name)}
    names |= {a.arg for a in function.args.args}
    return "dtype" not in names and not _takes_more(function.args)


def _with_parameter(source: Source, function: ast.FunctionDef) -> Edit:
    given = function.args
    if _by_name(function):
        last = [*given.args, *given.defaults, *given.kwonlyargs, *given.kw_defaults]
        end = max(source.end(part) for part in last if part is not None)
        star = "" if given.kwonlyargs else "*, "
        return source.replace(end, end, f", {star}dtype")
    if given.args:
        end = source.end(given.args[-1])
        return source.replace(end, end, ", dtype")
    line, column = source.start(function)
    column += source.text_of(function).index("(") + 1
    return source.replace((line, column), (line, column), "dtype")


def _by_name(function: ast.FunctionDef) -> bool:
    """Whether a parameter more is given by name: others have defaults, or are given so, too."""
    return bool(function.args.defaults or function.args.kwonlyargs)


def _is_static(function: ast.FunctionDef) -> bool:
    return [dotted(d) for d in function.decorator_list] == ["staticmethod"]


def _takes_more(given: ast.arguments) -> bool:
    """Whether a parameter cannot be put behind the last."""
    odd = given.vararg or given.kwarg or given.posonlyargs
    typed = any(isinstance(a.annotation, ast.Subscript) for a in given.args)
    return bool(odd or typed)


def _calls(
    source: Source, function: ast.FunctionDef
) -> list[tuple[ast.FunctionDef, ast.Call]]:
    """Each call of a function, with what calls it; none where one cannot be given more, or it is a value."""
    member = _is_static(function) or any(a.arg == "self" for a in function.args.args)
    found: list[tuple[ast.FunctionDef, ast.Call]] = []
    for caller in _functions(source.tree):
        for call in (n for n in walk(caller) if isinstance(n, ast.Call)):
            if _name(call.func, member) != function.name:
                continue
            if any(isinstance(a, ast.Starred) for a in call.args):
                return []
            if any(k.arg is None for k in call.keywords):
                return []
            found.append((caller, call))
    called = [call.func for _, call in found]
    uses = [n for n in walk(source.tree) if isinstance(n, ast.expr)]
    if any(n not in called and _name(n, member) == function.name for n in uses):
        return []
    return found


def _name(node: ast.expr, member: bool) -> str | None:
    return self_attribute(node) if member else dotted(node)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions and the methods of a module, without those inside of them."""
    for statement in tree.body:
        held = statement.body if isinstance(statement, ast.ClassDef) else [statement]
        yield from (s for s in held if isinstance(s, ast.FunctionDef))


def _dtype(
    tree: ast.Module, caller: ast.FunctionDef, imports: Mapping[str, Import]
) -> str | None:
    """The dtype that a function computes in: what it is given, or that of an array."""
    given = (*caller.args.args, *caller.args.kwonlyargs)
    if any(argument.arg == "dtype" for argument in given):
        return "dtype"
    array = floating_of(tree, given) or array_given(tree, caller, imports)
    return f"{array}.dtype" if array is not None else None


def _last(source: Source, call: ast.Call, text: str) -> Edit:
    """An edit that puts an argument behind those of a call."""
    line, column = source.end(call)
    inner = source.text_of(call)[:-1].rstrip()
    comma = "" if inner.endswith(("(", ",")) else ", "
    return source.replace((line, column - 1), (line, column - 1), f"{comma}{text}")
