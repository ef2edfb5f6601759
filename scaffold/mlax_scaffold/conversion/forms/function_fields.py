"""Fields of any type that the file gives functions of arrays: `ScoreNet(marginal_prob_std_fn)`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import walk

_ANY = ("Any", "typing.Any", "object")


def with_function_fields(origin: Origin) -> None:
    """Say in place that they are functions."""
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("flax", "equinox"):
            continue
        if not is_layer_class(origin, node):
            continue
        fields = [
            part
            for part in node.body
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
        ]
        for place, field in enumerate(fields):
            if field.value is None and ast.unparse(field.annotation) in _ANY:
                title = field.target.id  # type: ignore[union-attr]
                given = [
                    value
                    for part in walk(origin.tree)
                    if isinstance(part, ast.Call) and is_name(part.func, node.name)
                    for value in _given(part, place, title)
                ]
                if given and all(_is_function(origin, value) for value in given):
                    made = ast.Name("Callable", ast.Load())
                    field.annotation = ast.copy_location(made, field.annotation)


def _given(call: ast.Call, place: int, title: str) -> list[ast.expr]:
    """What a call gives for a field, by its place or its name."""
    named = [k.value for k in call.keywords if k.arg == title]
    return [*call.args[place : place + 1], *named]


def _is_function(origin: Origin, value: ast.expr) -> bool:
    """Whether a value is a function of the file, or a part of one, and makes no layer."""
    match value:
        case ast.Lambda():
            return True
        case ast.Name(id=local) if local in origin.functions:
            return True
        case ast.Name(id=local) if local in origin.assigned:
            inner = origin.assigned[local].value
            return inner is not None and _is_function(origin, inner)
        case ast.Call(func=func, args=[first, *_]):
            partial = origin.qualified(func) == "functools.partial"
            return partial and _is_function(origin, first)
    return False
