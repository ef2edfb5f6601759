"""Reads `examples`: values of hyperparameters, and shapes of arrays, that fit each other."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from mlax_scaffold.model.arrays import Input
from mlax_scaffold.model.definition import RESULT, Example
from mlax_scaffold.model.expressions import Expression
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.resolution import Scope
from mlax_scaffold.spelling import did_you_mean

_HINT = 'Write `examples = ({"size": 3, "x": (2, 3), "y": (2, 4)},)`.'


def read_examples(
    scope: Scope,
    value: ast.expr,
    hyperparameters: Collection[str],
    inputs: Iterable[Input],
) -> tuple[Example, ...]:
    """The examples of a class; what is wrong with one is reported."""
    source = scope.source
    if not isinstance(value, ast.Tuple | ast.List) or not value.elts:
        source.report(value, "examples are a tuple of dictionaries", _HINT)
        return ()
    labels = [label for i in inputs for label in i.type.labels(i.name)]
    found = [
        _example(scope, item, hyperparameters, (*labels, RESULT)) for item in value.elts
    ]
    examples = tuple(example for example in found if example is not None)
    for item, example in zip(value.elts, found, strict=True):
        if example is not None and example.names != examples[0].names:
            source.report(item, "every example names the same things, in one order")
    return examples


def _example(
    scope: Scope,
    node: ast.expr,
    hyperparameters: Collection[str],
    arrays: Collection[str],
) -> Example | None:
    source = scope.source
    if not isinstance(node, ast.Dict):
        source.report(node, "an example is a dictionary", _HINT)
        return None
    values: list[tuple[str, Expression]] = []
    shapes: list[tuple[str, tuple[int, ...]]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        name = key.value if isinstance(key, ast.Constant) else None
        if name not in (*hyperparameters, *arrays) or not isinstance(name, str):
            given = "**" if key is None else unparsed(key)
            known = (*hyperparameters, *arrays)
            source.report(
                key or value,
                f"{given} names neither a hyperparameter nor an array",
                did_you_mean(str(name), known) or f"There are {', '.join(known)}.",
            )
            continue
        try:
            literal = ast.literal_eval(value)
        except (ValueError, TypeError):  # what cannot be hashed is no key of a literal
            source.report(value, "a value of an example is a literal")
            continue
        if name in hyperparameters:
            values.append((name, scope.expression(value)))
        elif isinstance(literal, tuple) and all(type(n) is int for n in literal):
            shapes.append((name, literal))
        else:
            source.report(value, f"the shape of {name} is a tuple of integers")
    return Example(tuple(values), tuple(shapes))
