"""What the functions inside of a method are given: where they are called, and by `lax.scan` and its kin."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.constructs import argument, construct

INDEX = ast.Constant(0)
"""What stands for the number of a pass."""
_BODY, _TEST = (1, "body_fun"), (0, "cond_fun")


@functools.lru_cache(maxsize=64)
def handed(method: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """By the name of a parameter, expressions that hold the same kind of numbers as what it is given.

    One of a step holds a part of what is scanned over. A name that means something else elsewhere in the
    method is not among them.
    """
    named = {n.name: n for n in walk(method) if isinstance(n, ast.FunctionDef)}
    found: dict[str, list[ast.expr]] = {}
    parameters: set[ast.arg] = set()
    for call in walk(method):
        if not isinstance(call, ast.Call):
            continue
        for function, values in _given(call):
            inner = named.get(function.id) if isinstance(function, ast.Name) else None
            inner = function if isinstance(function, ast.Lambda) else inner
            if inner is None:
                continue
            for parameter, value in zip(inner.args.args, values, strict=False):
                found.setdefault(parameter.arg, []).append(value)
                parameters.add(parameter)
        inner = named.get(call.func.id) if isinstance(call.func, ast.Name) else None
        for parameter, value in _called_with(inner, call) if inner else ():
            found.setdefault(parameter.arg, []).append(value)
            parameters.add(parameter)
    others = _bound(method, parameters)
    for name, value in _again(method):
        if name in found:
            found[name].append(value)
    return {name: values for name, values in found.items() if name not in others}


def handed_by_callers(
    name: str, function: ast.FunctionDef, tree: ast.Module
) -> list[tuple[ast.FunctionDef, ast.expr]]:
    """What a function beside the definition is given for a parameter, with what calls it.

    Nothing where it binds the parameter again, or may be given something else.
    """
    beside = any(s.lineno == function.lineno for s in tree.body)
    if not beside or function.decorator_list:
        return []
    names = [a.arg for a in function.args.args if a.annotation is None]
    stored = (n for n in walk(function) if isinstance(n, ast.Name))
    if name not in names or name in {
        n.id for n in stored if isinstance(n.ctx, ast.Store)
    }:
        return []
    at = [a.arg for a in function.args.args].index(name)
    calls = _calls(function.name, tree)
    if any(len(call.args) <= at or call.keywords for _, call in calls):
        return []
    return [(caller, call.args[at]) for caller, call in calls]


def called_from(function: ast.FunctionDef, seen: frozenset[str]) -> frozenset[str]:
    """What is looked into where the callers of a function are; nothing where they are already."""
    mark = f"{function.name}()"
    above = {name for name in seen if name.endswith("()")}
    return frozenset() if mark in above else frozenset({*above, mark})


def _calls(name: str, tree: ast.Module) -> list[tuple[ast.FunctionDef, ast.Call]]:
    """The calls of a function, with what calls it; none where it is a value."""
    found: list[tuple[ast.FunctionDef, ast.Call]] = []
    held = [n for part in tree.body for n in (part, *getattr(part, "body", ()))]
    for caller in (n for n in held if isinstance(n, ast.FunctionDef)):
        uses = [n for n in walk(caller) if isinstance(n, ast.Name) and n.id == name]
        calls = [
            n
            for n in walk(caller)
            if isinstance(n, ast.Call) and any(n.func is use for use in uses)
        ]
        if len(calls) < len(uses):
            return []
        found += [(caller, call) for call in calls]
    return found


def _called_with(
    inner: ast.FunctionDef, call: ast.Call
) -> Iterator[tuple[ast.arg, ast.expr]]:
    """What each parameter of a function is given where it is called; nothing where stars stand."""
    arguments = inner.args
    named = {k.arg: k.value for k in call.keywords}
    stars = [a for a in call.args if isinstance(a, ast.Starred)]
    if stars or None in named or arguments.vararg or arguments.kwarg:
        return
    first = len(arguments.args) - len(arguments.defaults)
    for i, parameter in enumerate(arguments.args):
        default = arguments.defaults[i - first] if i >= first else None
        value = (
            call.args[i] if i < len(call.args) else named.get(parameter.arg, default)
        )
        if value is not None:
            yield parameter, value


def _again(method: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The names that are bound to what is computed of themselves, as in `x = x[order]`, and to what."""
    for node in walk(method):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name in {n.id for n in walk(value) if isinstance(n, ast.Name)}:
                    yield name, value


def _given(call: ast.Call) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """The functions that a call runs, with what each is given."""
    if isinstance(call.func, ast.Call) and not call.keywords:
        made = construct(call.func)
        if made is not None and made.name == "vmap" and call.func.args:
            yield call.func.args[0], list(call.args)
        return
    made = construct(call)
    match made.name if made else "":
        case "scan":
            slots = [(0, "f"), (1, "init"), (2, "xs")]
        case "map":
            slots = [(0, "f"), (1, "xs")]
        case "fori_loop":
            slots = [(2, "body_fun"), (3, "init_val")]
        case "while_loop":
            slots = [_BODY, (2, "init_val")]
        case _:
            return
    function, *values = (argument(call, slot) for slot in slots)
    if function is None or None in values:
        return
    given = [value for value in values if value is not None]
    if made is not None and made.name == "fori_loop":
        given.insert(0, INDEX)
    yield function, given
    test = argument(call, _TEST) if made and made.name == "while_loop" else None
    if test is not None:
        yield test, given


def _bound(method: ast.FunctionDef, but: set[ast.arg]) -> set[str]:
    """The names that a method binds elsewhere than as certain parameters."""
    found: set[str] = set()
    again = [name for name, _ in _again(method)]
    for node in walk(method):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                if name in again:
                    again.remove(name)
                else:
                    found.add(name)
            case ast.arg(arg=name) if node not in but:
                found.add(name)
    return found
