"""Parameters of the methods of specs, as their kind takes them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.remedies.given_keys import (
    as_drawn,
    as_initialized,
    draws,
)
from mlax_scaffold.reader.remedies.handed_steps import handed_step
from mlax_scaffold.reader.remedies.losses import handed_loss
from mlax_scaffold.reader.remedies.names import of_module, placed
from mlax_scaffold.reader.source import Source

_GRADIENTS = frozenset(
    ("g", "grad", "grads", "gradient", "gradients", "nabla", "update", "updates")
)
_WEIGHTS = frozenset(
    (
        "p",
        "param",
        "parameter",
        "parameters",
        "params",
        "theta",
        "w",
        "weight",
        "weights",
    )
)
_DRAWING = ("prepare", "update", "step")
"""Methods of an optimizer that may draw."""
_NO_TREES = frozenset(("key", "loss", "rng", "state", "states", "step", "value"))
"""What people hand beside these two."""


def _meant(
    name: str, expected: tuple[str, ...], given: Sequence[str] = ()
) -> str | None:
    """The parameter of an optimizer's method that a name is another name of; None: it says nothing.

    `dw` beside `w` is its gradient, as is `p_grad` or `grad_of_p`.
    """
    derived = name[:1] in ("d", "g") and name[1:] in given
    if derived or {*name.split("_")} & _GRADIENTS:
        return next((n for n in expected if n in _GRADIENTS), None)
    if name in _WEIGHTS:
        return next((n for n in expected if n in _WEIGHTS), None)
    return name if name in expected else None


def _all_meant(names: Sequence[str], expected: tuple[str, ...]) -> list[str | None]:
    """What each name means; what says nothing is the one that is left, where one is."""
    meant = [_meant(name, expected, names) for name in names]
    left = [n for n in expected if n not in meant]
    if len(names) == len(expected) and len(left) == 1 and meant.count(None) == 1:
        at = meant.index(None)
        meant[at] = None if {*names[at].split("_")} & _NO_TREES else left[0]
    return meant


def parameters_named(
    source: Source, method: ast.FunctionDef, expected: tuple[str, ...]
) -> Fix | None:
    """A method whose parameters have these names, in this order; those that it lacks are added.

    None where their names say that they stand in another order, and not which.
    """
    given = method.args.args
    if fix := handed_step(source, method, expected):
        return fix
    if fix := handed_loss(source, method, expected):
        return fix
    keys = [a for a in (*given[1:], *method.args.kwonlyargs) if a.arg not in expected]
    keys = [a for a in keys if draws(method, a.arg)]
    if keys and method.name in _DRAWING:
        return as_drawn(source, method, keys[0])
    if len(keys) == 1 and method.name == "setup" and len(expected) == 1:
        return as_initialized(source, method, keys[0])
    if method.args.kwonlyargs or method.args.posonlyargs or not given:
        return None
    if len(given) > len(expected):
        return _without_unread(source, method, expected)
    if method.args.defaults:
        return None
    places = list(zip((a.arg for a in given), expected, strict=False))
    meant = _all_meant([name for name, _ in places], expected)
    if any(m not in (n, None) for m, (_, n) in zip(meant, places, strict=True)):
        # In another order: the body is renamed by what the names say.
        if None in meant or len({*meant}) < len(meant) or len(given) < len(expected):
            return None
        places = [(name, m or name) for (name, _), m in zip(places, meant, strict=True)]
    new = {name: n for name, n in places if name != n}
    read = [n for n in ast.walk(method) if isinstance(n, ast.Name)]
    names = {n.id for n in read}
    inner = [n for n in ast.walk(method) if isinstance(n, ast.arg) and n not in given]
    names |= {a.arg for a in inner}
    added = expected[len(given) :]
    if not placed(source, read, new):
        return None
    # What is added may be read already, where nothing else has that name.
    stored = {n.id for n in read if isinstance(n.ctx, ast.Store)}
    stored |= {a.arg for a in inner} | of_module(source)
    taken = (names & {*new.values()}) | (stored & {*added})
    if taken:
        return None
    hidden = _of_inner_functions(method, {*new})
    edits = [
        source.edit(node, new[node.id])
        for node in ast.walk(method)
        if isinstance(node, ast.Name) and node.id in new and node not in hidden
    ]
    for argument, name in zip(given, expected, strict=False):
        line, column = source.start(argument)
        if argument.arg != name:
            end = (line, column + len(argument.arg))
            edits.append(source.replace((line, column), end, name))
    if added:
        end = source.end(given[-1])
        edits.append(source.replace(end, end, "".join(f", {name}" for name in added)))
    # What other edits read would have the name of before.
    lines = source.start(method)[0], source.end(method)[0]
    return Fix(tuple(edits), alone=lines if new else (0, 0))


def _of_inner_functions(method: ast.FunctionDef, names: set[str]) -> set[ast.Name]:
    """The uses of these names that stand for parameters of functions inside of a method."""
    found: set[ast.Name] = set()
    for function in ast.walk(method):
        if isinstance(function, ast.Lambda | ast.FunctionDef) and function != method:
            own = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
            body = function.body if isinstance(function.body, list) else [function.body]
            parts = (n for part in body for n in ast.walk(part))
            found |= {n for n in parts if isinstance(n, ast.Name) and n.id in own}
    return {n for n in found if n.id in names}


def _without_unread(
    source: Source, method: ast.FunctionDef, expected: tuple[str, ...]
) -> Fix | None:
    """A method without the parameters that it does not read, where so many are left as it takes."""
    read = {n.id for n in ast.walk(method) if isinstance(n, ast.Name)}
    first, *given = method.args.args
    kept = [a for a in given if a.arg in read or _meant(a.arg, expected)]
    if 1 + len(kept) != len(expected):
        return None
    texts = ", ".join([first.arg, *map(source.text_of, kept)])
    # Of those with a default, which are the last ones, none is left.
    last = [*given, *method.args.defaults][-1]
    return Fix((source.replace(source.start(first), source.end(last), texts),))
