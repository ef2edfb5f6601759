"""What the functions inside of a method are given by `lax.scan`, `fori_loop` and their kin."""

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
    others = _bound(method, parameters)
    for name, value in _again(method):
        if name in found:
            found[name].append(value)
    return {name: values for name, values in found.items() if name not in others}


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
