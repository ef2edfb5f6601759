"""Inputs that ask for layers which some hyperparameters leave out: those are required there.

if y is not None:                         if y is not None:
    x = x + self.embed(y)     becomes         require(self.classes > 0, "y needs embed")
                                              x = x + self.embed(y)
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping

from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def with_needed_layers(forward: ast.FunctionDef, setup: Iterable[ast.stmt]) -> None:
    """Write what is required, in place, where an input is asked for that may be None."""
    given = (*forward.args.args, *forward.args.kwonlyargs)
    optional = {
        a.arg for a in given if a.annotation and "None" in ast.unparse(a.annotation)
    }
    conditions = dict(_conditions(setup))
    if optional and conditions:
        _write(forward.body, optional, conditions, set())


def _conditions(setup: Iterable[ast.stmt]) -> Iterable[tuple[str, ast.expr]]:
    """Layers with what has to hold for them to be there."""
    for part in setup:
        match part:
            case ast.Assign(
                targets=[ast.Attribute() as target],
                value=ast.IfExp(test=test, body=ast.Call(), orelse=other),
            ) if is_none(other) and names(test) <= {"self"}:
                yield str(self_attribute(target)), test


def _write(
    body: list[ast.stmt],
    optional: Collection[str],
    conditions: Mapping[str, ast.expr],
    known: set[str],
) -> None:
    """Go through statements, where these conditions are asked around them."""
    for part in body:
        if not isinstance(part, ast.If):
            continue
        asked = known | {ast.unparse(part.test)}
        match part.test:
            case ast.Compare(
                left=ast.Name(id=given), ops=[ast.IsNot()], comparators=[n]
            ) if is_none(n) and given in optional:
                needed = [
                    (layer, conditions[layer])
                    for inner in part.body
                    if isinstance(inner, ast.Assign | ast.AugAssign)
                    for call in walk(inner.value)
                    if isinstance(call, ast.Call)
                    and (layer := self_attribute(call.func) or "") in conditions
                    and ast.unparse(conditions[layer]) not in known
                    and not _is_chosen(inner.value)
                ]
                for layer, test in dict(needed).items():
                    said = f"{given} needs {layer.strip('_')}"
                    required = expression(
                        "f(t, s)",
                        f=ast.Name("@word:require", ast.Load()),
                        t=cloned(test),
                        s=ast.Constant(said),
                    )
                    made = ast.copy_location(ast.Expr(required), part.body[0])
                    part.body.insert(0, made)
                located(part)
        _write(part.body, optional, conditions, asked)
        _write(part.orelse, optional, conditions, known)


def _is_chosen(node: ast.expr) -> bool:
    """Whether a part of an expression may not be computed."""
    return any(isinstance(part, ast.IfExp | ast.BoolOp) for part in walk(node))
