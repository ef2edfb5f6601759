"""Flags that calls of layers of JAX take, as fields where nothing gives them, or as what all calls give.

y = layer(x, reverse=True)          y = layer(x)
def __call__(self, x, reverse=False):          becomes          def __call__(self, x):
    return x - t if reverse else x + t                              return x - t
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from mlax_scaffold.conversion.forms.number_inputs import hyperparameter, without
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.made_of import uncalled, used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    names,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.vocabulary import flags

_FRAMEWORKS = ("flax", "nnx", "equinox", "haiku")


def without_call_flags(origin: Origin, thing: str, notes: Notes) -> None:
    """Write them so in place; what becomes of those of the class that is asked for is told."""
    used = {*used_by(origin, thing), thing}
    for node in [c for t, c in origin.classes.items() if t in used]:
        if framework_of(origin, node) not in _FRAMEWORKS:
            continue
        call = method_of(node, "__call__")
        if call is None or not is_layer_class(origin, node):
            continue
        for argument, default in _flags_of(call):
            bound = [t for part in call.body for t in _bound(part)]
            if argument.arg in bound:
                continue
            if node.name == thing:
                hyperparameter(node, call, argument, default, notes)
                continue
            calls = [*_calls(origin, node, call, argument.arg, used)]
            given = {literal(v if v is not None else default) for _, v in calls}
            if len(given) != 1 or not isinstance(next(iter(given)), bool):
                continue
            _decide(call, argument, given.pop())
            for part, _ in calls:
                _leave_out(part, call, argument.arg)
            without(call, argument.arg)
    ast.fix_missing_locations(origin.tree)


def _flags_of(call: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr]]:
    """Parameters that are True or False by default, and tell no mode."""
    given = call.args
    late = given.args[len(given.args) - len(given.defaults) :]
    pairs = [*zip(late, given.defaults, strict=True)]
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    pairs += [(a, d) for a, d in named if d is not None]
    return [
        (a, d)
        for a, d in pairs
        if isinstance(literal(d), bool) and not flags([a.arg]) and a.arg in names(call)
    ]


def _bound(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _calls(
    origin: Origin,
    node: ast.ClassDef,
    call: ast.FunctionDef,
    parameter: str,
    used: Collection[str],
) -> Iterator[tuple[ast.Call, ast.expr | None]]:
    """The calls of these classes of what the class makes, and what they give; None for the default."""
    places = [a.arg for a in call.args.args[1:]]
    place = places.index(parameter) if parameter in places else None
    for owner in [c for t, c in origin.classes.items() if t in used]:
        gone = uncalled(origin, owner)
        held = {*_held(owner, node.name)}
        for method in owner.body:
            if not isinstance(method, ast.FunctionDef) or method.name in gone:
                continue
            known = held | {*_locals(method, held, node.name)}
            for part in ast.walk(method):
                if not isinstance(part, ast.Call) or not _is_of(
                    part.func, known, node.name
                ):
                    continue
                named = [k.value for k in part.keywords if k.arg == parameter]
                if place is not None and place < len(part.args):
                    named.append(part.args[place])
                yield part, next(iter(named), None)


def _held(owner: ast.ClassDef, title: str) -> Iterator[str]:
    """The attributes that hold what the class makes, as they are read."""
    for part in ast.walk(owner):
        match part:
            case ast.Assign(targets=[target], value=value) if (
                attribute := self_attribute(target)
            ):
                if any(is_name(p, title) for p in ast.walk(value)):
                    yield f"self.{attribute}"
            case ast.Call(func=ast.Attribute(value=filled, attr="append"), args=[one]):
                if any(is_name(p, title) for p in ast.walk(one)):
                    yield ast.unparse(filled)


def _locals(method: ast.FunctionDef, held: set[str], title: str) -> Iterator[str]:
    """The names under which a method has such layers."""
    for part in ast.walk(method):
        match part:
            case (
                ast.For(target=target, iter=source)
                | ast.comprehension(target=target, iter=source)
            ):
                read = {
                    ast.unparse(p) for p in ast.walk(source) if isinstance(p, ast.expr)
                }
                if read & held:
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


def _decide(call: ast.FunctionDef, argument: ast.arg, value: object) -> None:
    """Write the value in the call, without what is not reached then."""
    decided = Decided(Known({argument.arg: ast.Constant(value)}, {}))
    call.body = decided.statements(call.body)


def _leave_out(part: ast.Call, call: ast.FunctionDef, parameter: str) -> None:
    places = [a.arg for a in call.args.args[1:]]
    part.keywords = [k for k in part.keywords if k.arg != parameter]
    if parameter in places and places.index(parameter) < len(part.args):
        at = places.index(parameter)
        part.keywords += [
            ast.keyword(p, a)
            for p, a in zip(places[at + 1 :], part.args[at + 1 :], strict=False)
        ]
        del part.args[at:]
