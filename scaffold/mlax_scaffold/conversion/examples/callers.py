"""What a file makes a class with: arguments that its other classes know to fit each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mlax_scaffold.conversion.examples.computing import computed
from mlax_scaffold.conversion.examples.nested_examples import Fitted
from mlax_scaffold.conversion.output.description import Described
from mlax_scaffold.conversion.source.interfaces import Interface
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    names,
    replaced,
)
from mlax_scaffold.conversion.source.walking import walk

_LARGEST = 16
"""What is larger makes tests slow."""


def with_callers(
    origin: Origin,
    node: ast.ClassDef,
    described: Described,
    fitted: Fitted,
    interface: Interface,
) -> Described:
    """The definition, tried with what it is made with where that is fixed or computed of other arguments.

    `Block(width, kernel, stride=1, padding=(kernel - 1) * dilation, dilation=dilation)` says what fits.
    """
    chosen = dict(described.example)
    if not chosen:
        return described
    best: dict[str, int] = {}
    for call in _calls(origin, node):
        given = _given(node, call, interface.renamed, chosen)
        if len(given) > len(best):
            best = given
    if all(chosen.get(field) == value for field, value in best.items()):
        return described
    example = fitted.example(described, best)
    if not example:
        return described
    tried = described.trial
    if tried is not None:
        found = dict(example)
        values = tuple((f, found.get(f, v)) for f, v in tried.hyperparameters)
        shapes = {
            k: v
            for k, v in found.items()
            if isinstance(v, tuple) and k in dict(tried.inputs)
        }
        inputs = tuple((i, shapes.get(i, s)) for i, s in tried.inputs)
        tried = replace(tried, hyperparameters=values, inputs=inputs)
    return replace(described, example=example, trial=tried)


def _calls(origin: Origin, node: ast.ClassDef) -> Iterator[ast.Call]:
    for part in origin.tree.body:
        if part is node or getattr(part, "name", "") == node.name:
            continue
        for inner in walk(part):
            if isinstance(inner, ast.Call) and is_name(inner.func, node.name):
                yield inner


def _given(
    node: ast.ClassDef,
    call: ast.Call,
    renamed: Mapping[str, str],
    chosen: Mapping[str, object],
) -> dict[str, int]:
    """The fields whose values a call fixes, or computes of those that others have."""
    start = next((f for f in node.body if getattr(f, "name", "") == "__init__"), None)
    if not isinstance(start, ast.FunctionDef):
        return {}
    order = [a.arg for a in start.args.args[1:]]
    places = dict(zip(order, call.args, strict=False))
    places |= {k.arg: k.value for k in call.keywords if k.arg}
    known: dict[str, ast.expr] = {}
    for parameter, value in places.items():
        field = renamed.get(parameter, parameter)
        if isinstance(value, ast.Name) and field:
            known.setdefault(value.id, expression(f"self.{field}"))
    found: dict[str, int] = {}
    for parameter, value in places.items():
        field = renamed.get(parameter, parameter)
        fixed = not isinstance(value, ast.Name) and names(value) <= known.keys()
        if not field or not fixed:
            continue
        made = literal(value)
        if type(made) is not int:
            made = computed(replaced(value, known), {**chosen, **found})
        if type(made) is int:
            found[field] = made
    return found if all(0 <= v <= _LARGEST for v in found.values()) else {}
