"""The calls of what a class of the file makes: of attributes that hold it, elements of lists, and locals."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from mlax_scaffold.conversion.source.made_of import uncalled
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute, targets
from mlax_scaffold.conversion.source.walking import walk


def calls_of(
    origin: Origin, title: str, owners: Collection[str]
) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    """The calls of what a class makes, with the method of one of these owners that each stands in.

    Methods that nothing calls are none of them.
    """
    for owner in [c for t, c in origin.classes.items() if t in owners]:
        gone = uncalled(origin, owner)
        held = {*_held(owner, title)}
        for method in owner.body:
            if not isinstance(method, ast.FunctionDef) or method.name in gone:
                continue
            known = held | {*_locals(method, held, title)}
            for part in walk(method):
                if isinstance(part, ast.Call) and _is_of(part.func, known, title):
                    yield method, part


def given_at(part: ast.Call, call: ast.FunctionDef, parameter: str) -> ast.expr | None:
    """What a call gives a parameter of a method; None where it leaves it out."""
    places = [a.arg for a in call.args.args[1:]]
    named = [k.value for k in part.keywords if k.arg == parameter]
    if parameter in places and places.index(parameter) < len(part.args):
        named.append(part.args[places.index(parameter)])
    return next(iter(named), None)


def _held(owner: ast.ClassDef, title: str) -> Iterator[str]:
    """The attributes that hold what the class makes, as they are read."""
    for part in walk(owner):
        match part:
            case ast.Assign(targets=[target], value=value) if (
                attribute := self_attribute(target)
            ):
                if any(is_name(p, title) for p in walk(value)):
                    yield f"self.{attribute}"
            case ast.Call(func=ast.Attribute(value=filled, attr="append"), args=[one]):
                if any(is_name(p, title) for p in walk(one)):
                    yield ast.unparse(filled)


def _locals(method: ast.FunctionDef, held: set[str], title: str) -> Iterator[str]:
    """The names under which a method has such layers."""
    for part in walk(method):
        match part:
            case (
                ast.For(target=target, iter=source)
                | ast.comprehension(target=target, iter=source)
            ):
                parts = (p for p in walk(source) if isinstance(p, ast.expr))
                if {ast.unparse(p) for p in parts} & held:
                    yield from targets(target)
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Call() as value):
                if is_name(value.func, title):
                    yield local


def _is_of(func: ast.expr, known: set[str], title: str) -> bool:
    match func:
        case ast.Subscript(value=value):
            return _is_of(value, known, title)
        case ast.Call(func=made):
            return is_name(made, title)
    return ast.unparse(func) in known
