"""Inputs of equinox that are one number for all examples, such as the time of a vector field."""

from __future__ import annotations

import ast
from collections.abc import Set

from mlax_scaffold.conversion.source.trees import is_name, is_none, literal

_ALIKE = ("asarray", "array", "atleast_1d")


def scalars_given(function: ast.FunctionDef) -> set[str]:
    """Inputs beside others that are only made arrays of one element: `t[None]`, `jnp.array([t])`."""
    given = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
    given = [g for g in given if g != "self"]
    if len(given) < 2:
        return set()
    return {g for g in given if _is_scalar(function, g)}


def is_of_one(function: ast.FunctionDef, inputs: Set[str]) -> bool:
    """Whether a method is for one example: it has a number for all, or what it scans stands first."""
    scans = any(
        isinstance(part, ast.Call) and _last(part.func) == "scan"
        for part in ast.walk(function)
    )
    return scans or bool(scalars_given(function) & inputs)


def _is_scalar(function: ast.FunctionDef, given: str) -> bool:
    def holds(node: ast.expr) -> bool:
        match node:
            case ast.Call(func=func, args=[inner, *_]):
                return _last(func) in _ALIKE and holds(inner)
        return is_name(node, given)

    wrapped = 0
    for part in ast.walk(function):
        match part:
            case ast.Subscript(value=value, slice=at) if holds(value) and is_none(at):
                wrapped += 1
            case ast.Call(func=func, args=[ast.List(elts=[one])]) if holds(one):
                wrapped += _last(func) in (*_ALIKE, "stack")
            case ast.Call(func=func, args=[one, shape]) if holds(one):
                again = _last(func) == "reshape" and literal(shape) in (1, (1,))
                wrapped += again or (_last(func) == "expand_dims")
            case ast.Call(
                func=ast.Attribute(value=one, attr="reshape"),
                args=[ast.Constant(value=1)],
            ):
                wrapped += holds(one)
    stored = [p for p in ast.walk(function) if is_name(p, given)]
    kept = [p for p in stored if isinstance(p.ctx, ast.Load)]  # type: ignore[attr-defined]
    rebound = len(kept) < len(stored)
    # Where the name is bound anew, it stands for the array from then on.
    return bool(wrapped) and (rebound or wrapped == len(kept))


def _last(func: ast.expr) -> str:
    return ast.unparse(func).rpartition(".")[2]
