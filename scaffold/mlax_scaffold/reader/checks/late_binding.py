"""Finds functions that are kept by passes of a loop, and read its variable when they are called.

By then it has its last value, for all of them: `[lambda x: layer(x) for layer in self.layers]` is the last
layer so many times.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.looping import SEQUENCES
from mlax_scaffold.reader.source import (
    Source,
    class_of,
    defaults_of,
    dotted,
    self_attribute,
)

_Function = ast.FunctionDef | ast.Lambda
_Loop = ast.For | ast.comprehension


def check_late_binding(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report them, with a default that holds the variable.

    One that calls a layer which a block is given cannot be kept at all, as `closures` tells.
    """
    owner = class_of(source.tree, method)
    fields = (s for s in (owner.body if owner else ()) if isinstance(s, ast.AnnAssign))
    named = {dotted(field.target) for field in fields}
    given = {name for name in named if attributes.get(name or "") in SEQUENCES}
    for function, loops in _kept(method).items():
        targets = [n for loop in loops for n in walk(loop.target)]
        variables = {n.id for n in targets if isinstance(n, ast.Name)}
        late = [n for n in _free(function) if n in variables]
        read = {self_attribute(n) for part in (function, *loops) for n in walk(part)}
        if late and not given & read:
            shown = " and ".join(f"`{name}`" for name in late)
            held = ", ".join(f"{name}={name}" for name in late)
            source.report(
                function,
                f"this function is kept, and reads {shown} when it is called: the last of the loop then",
                f"Hold what it is in each pass: `{held}` among the parameters.",
                fix=_holding(source, function, late),
            )


def _kept(method: ast.FunctionDef) -> dict[_Function, list[_Loop]]:
    """The functions that a list or a dictionary keeps, each with the loops around it."""
    found: dict[_Function, list[_Loop]] = {}
    for node in walk(method):
        match node:
            case (
                ast.ListComp(elt=made, generators=loops)
                | ast.DictComp(value=made, generators=loops)
            ):
                for function in _held_in(made):
                    found.setdefault(function, []).extend(loops)
            case ast.For():
                defined = {
                    f.name: f for f in walk(node) if isinstance(f, ast.FunctionDef)
                }
                for part in _appended(node):
                    name = part.id if isinstance(part, ast.Name) else ""
                    for function in _held_in(defined.get(name, part)):
                        found.setdefault(function, []).append(node)
    return found


def _held_in(node: ast.expr | ast.FunctionDef) -> Iterator[_Function]:
    """The functions that a value holds: itself, or those of a list, a tuple or a comprehension."""
    match node:
        case ast.Lambda() | ast.FunctionDef():
            yield node
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _held_in(part)
        case ast.ListComp(elt=made) | ast.DictComp(value=made):
            yield from _held_in(made)


def _appended(loop: ast.For) -> Iterator[ast.expr]:
    """What the passes of a loop append to a list that is there before it."""
    made = {
        target.id
        for n in walk(loop)
        if isinstance(n, ast.Assign)
        for target in n.targets
        if isinstance(target, ast.Name)
    }
    for node in walk(loop):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[given]
            ) if name not in made:
                yield given


def _free(function: _Function) -> list[str]:
    """The names that a function reads of what is around it, in order."""
    own = {a.arg for a in walk(function.args) if isinstance(a, ast.arg)}
    body = function.body if isinstance(function.body, list) else [function.body]
    names = [n for part in body for n in walk(part) if isinstance(n, ast.Name)]
    own |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    own |= {n.arg for part in body for n in walk(part) if isinstance(n, ast.arg)}
    return [*dict.fromkeys(n.id for n in names if n.id not in own)]


def _holding(source: Source, function: _Function, names: list[str]) -> Fix | None:
    """The function with a parameter for each name, which holds what that is where the function stands."""
    given = function.args
    if not given.args or given.vararg or given.kwonlyargs or given.kwarg:
        return None
    last = dict(defaults_of(given)).get(given.args[-1], given.args[-1])
    text = "".join(f", {name}={name}" for name in names)
    end = source.end(last)
    return Fix((source.replace(end, end, text),))
