"""Inputs of equinox that are one number for all examples, such as the time of a vector field."""

from __future__ import annotations

import ast
from collections.abc import Set

from mlax_scaffold.conversion.source.trees import is_name, is_none, literal
from mlax_scaffold.conversion.source.walking import walk

_ALIKE = ("asarray", "array", "atleast_1d")


def scalars_given(function: ast.FunctionDef) -> set[str]:
    """Inputs beside others that are only made arrays of one element, `t[None]`, `jnp.array([t])`.

    So is one that is only multiplied by frequencies, `jnp.sin(t * self.freqs)` beside a cosine.
    """
    given = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
    given = [g for g in given if g != "self"]
    waves = {g for g in given if _is_of_waves(function, g)}
    if len(given) < 2:
        return waves
    return waves | {g for g in given if _is_scalar(function, g)}


def _is_of_waves(function: ast.FunctionDef, title: str) -> bool:
    """Whether sines and cosines are computed of a product with an input, which is read nowhere else."""
    parts = [*walk(function)]
    if sum(is_name(part, title) for part in parts) != 1:
        return False
    for part in function.body:
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)],
                value=ast.BinOp(left=left, op=ast.Mult(), right=right),
            ) if is_name(left, title) or is_name(right, title):
                calls = [p for p in parts if isinstance(p, ast.Call) and p.args]
                waves = {_last(c.func) for c in calls if is_name(c.args[0], local)}
                return {"sin", "cos"} <= waves
    return False


def is_of_one(
    function: ast.FunctionDef, inputs: Set[str], *, maps: bool, tuples: Set[str]
) -> bool:
    """Whether a method is for one example: it has a number for all, or counts axes from the first one.

    Where a class maps layers over an axis, the first one may be that. What is read of a tuple is no axis.
    """
    parts = [
        part
        for part in walk(function)
        if not (isinstance(part, ast.Subscript) and _is_one_of(part.value, tuples))
    ]
    scans = any(isinstance(p, ast.Call) and _last(p.func) == "scan" for p in parts)
    if scans or (not maps and any(map(_counts_from_first, parts))):
        return True
    return bool(scalars_given(function) & inputs)


def _is_one_of(node: ast.expr, titles: Set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in titles


def _counts_from_first(node: ast.AST) -> bool:
    """Whether a part takes the axis that stands first, or all of them, for those of one example."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            title = _last(func)
            axes = [k.value for k in keywords if k.arg == "axis"]
            if title in _ALL_AXES and not axes and len(args) < 2:
                return True
            if any(_is_first(axis) for axis in axes):
                return True
            return title in _FIRST_AXIS or (is_name(func, "len") and _of_name(args[0]))
        case ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape")):
            return _is_first(node.slice)
        case ast.Subscript(value=ast.Call() | ast.Name(), slice=at):
            parts = at.elts if isinstance(at, ast.Tuple) else [at]
            return _is_first(parts[0]) or _is_part(parts[0])
        case ast.Attribute(value=ast.Name(), attr="size"):
            return True
    return False


_FIRST_AXIS = ("outer", "associative_scan", "fori_loop")
_ALL_AXES = ("cumsum", "cumprod", "flip", "ravel", "flatten", "trace")
"""Functions that take all axes where they are told none."""


def _is_first(node: ast.expr) -> bool:
    at = literal(node)
    return type(at) is int and at >= 0


def _is_part(node: ast.expr) -> bool:
    ends = (node.lower, node.upper, node.step) if isinstance(node, ast.Slice) else ()
    return any(end is not None for end in ends)


def _of_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def _is_scalar(function: ast.FunctionDef, given: str) -> bool:
    def holds(node: ast.expr) -> bool:
        match node:
            case ast.Call(func=func, args=[inner, *_]):
                return _last(func) in _ALIKE and holds(inner)
        return is_name(node, given)

    wrapped = 0
    for part in walk(function):
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
    stored = [p for p in walk(function) if is_name(p, given)]
    kept = [p for p in stored if isinstance(p.ctx, ast.Load)]  # type: ignore[attr-defined]
    rebound = len(kept) < len(stored)
    # Where the name is bound anew, it stands for the array from then on.
    return bool(wrapped) and (rebound or wrapped == len(kept))


def _last(func: ast.expr) -> str:
    return ast.unparse(func).rpartition(".")[2]
