"""Which operand of an expression that failed has the wider dtype."""

from __future__ import annotations

import ast
import traceback
from types import FrameType
from typing import Any

import jax
from jax.core import Tracer


def wider_operand(error: BaseException, root: str) -> int | None:
    """The place of the operand, in the last line of a traceback that stands below a folder.

    None where the expression takes several lines, or none of its operands is certain to be wider.
    """
    summary = traceback.extract_tb(error.__traceback__)
    frames = [f for f, _ in traceback.walk_tb(error.__traceback__)]
    pairs = zip(frames, summary, strict=True)
    own = [(f, s) for f, s in pairs if s.filename.startswith(root)]
    if not own or own[-1][1].lineno != own[-1][1].end_lineno:
        return None
    frame, told = own[-1]
    with open(told.filename, encoding="utf-8") as file:
        line = file.read().split("\n")[(told.lineno or 1) - 1]
    text = line.encode()[told.colno : told.end_colno].decode()
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    pair = isinstance(node, ast.BinOp)
    sides = [node.left, node.right] if pair else getattr(node, "args", [])
    for number, side in enumerate(sides):
        try:
            value = _described(side, frame)
        except Exception:
            continue
        wide = str(getattr(value, "dtype", "")) in ("float32", "float64")
        if wide and not getattr(value, "weak_type", False):
            return number
    return None


def _described(side: ast.expr, frame: FrameType) -> Any:
    """The shape and the dtype of an expression, with the locals of a frame: nothing is computed."""
    found = {n.id for n in ast.walk(side) if isinstance(n, ast.Name)}
    # A proxy, since Python 3.13, whose keys are no set.
    local = dict(frame.f_locals)
    values = {n: local[n] for n in found & local.keys()}
    given = {n: v for n, v in values.items() if any(map(_is_traced, _leaves(v)))}
    code = compile(ast.Expression(side), "<operand>", "eval")
    known = {**frame.f_globals, **local}
    return jax.eval_shape(
        lambda given: eval(code, {**known, **given}), jax.tree.map(_shaped, given)
    )


def _shaped(value: Any) -> Any:
    if not _is_traced(value):
        return value
    return jax.ShapeDtypeStruct(value.shape, value.dtype, weak_type=value.weak_type)


def _is_traced(value: Any) -> bool:
    return isinstance(value, Tracer)


def _leaves(value: Any) -> list[Any]:
    return jax.tree.leaves(value)
