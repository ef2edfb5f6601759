"""Layers that are called in one mode, whatever the mode of the whole is: `drop(x, deterministic=True)`.

In inference dropout is what it is given, attention without a rate is the same in both modes, and batch
normalization computes with its averages, which can be read.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.building import Attribute
from mlax_scaffold.conversion.rows.rows import Row, places_of, says_mode
from mlax_scaffold.conversion.shapes.layer_shapes import arguments
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.trees import literal, marked
from mlax_scaffold.conversion.source.vocabulary import INFERENCE

DROPOUT = "Dropout"
_RATES = {DROPOUT: "rate", "MultiHeadAttention": "dropout_rate"}


def told_mode(node: ast.Call, row: Row | None) -> tuple[str, bool] | None:
    """The flag of a call that is a literal, and whether it says that the call trains."""
    places = places_of(row)[1:] if row is not None else []
    given = [*zip(places, node.args, strict=False)]
    for title, value in (*given, *((str(k.arg), k.value) for k in node.keywords)):
        said = literal(value)
        if says_mode(title) and isinstance(said, bool):
            return title, said != (title in INFERENCE)
    return None


def without_mode(node: ast.Call, row: Row | None, flag: str) -> ast.Call:
    """The call without its flag, and without the places behind it that say nothing."""
    places = places_of(row)[1:] if row is not None else []
    at = places.index(flag) if flag in places else len(node.args)
    rest = node.args[at + 1 :]
    if len(node.args) > at and all(literal(a) in (False, None) for a in rest):
        node.args = node.args[:at]
    node.keywords = [k for k in node.keywords if k.arg != flag]
    return node


def is_same(layer: str, known: Attribute) -> bool:
    """Whether a layer computes the same in both modes: one that may drop, and has no rate."""
    rate = _rate(layer, known)
    return layer in _RATES and (rate is None or literal(rate) == 0)


def _rate(layer: str, known: Attribute) -> ast.expr | None:
    if known.call is None:
        return None
    return arguments(layer, known.call).get(_RATES.get(layer, ""))


def remark_drop(node: ast.Call, notes: Notes) -> None:
    """Say that a call drops in any mode."""
    notes.remark(
        node,
        f"`{ast.unparse(node.func)}` drops in inference too",
        "here it does in training alone",
    )


def remark_statistics(node: ast.Call, flag: str, notes: Notes) -> None:
    """Say that a call normalizes by the batch in any mode."""
    notes.remark(
        node,
        f"`{ast.unparse(node.func)}` normalizes by the batch in inference too",
        f"here it has averages for that: compute with `moments` what `{flag}` asks for, if it is meant",
    )


def with_averages(node: ast.Call, known: Attribute, value: Value) -> ast.expr | None:
    """Batch normalization with its averages, in the place of a call; None where the axes are not known."""
    if known.call is None or len(node.args) != 1 or node.keywords:
        return None
    given = {k.arg: literal(k.value) for k in known.call.keywords}
    behind = 0
    if given.get("channel_last") is not True:
        if not isinstance(value, Array) or value.lead or len(value.axes) < 2:
            return None
        behind = len(value.axes) - 2
    at = "[:" + ", None" * behind + "]" if behind else ""
    parts = {"f": node.func, "x": node.args[0]}
    scale = f"f.scale{at} * " if given.get("use_scale") is not False else ""
    bias = f" + f.bias{at}" if given.get("use_bias") is not False else ""
    text = f"(x - f.mean{at}) * ({scale}lax.rsqrt(f.var{at} + f.epsilon)){bias}"
    return ast.copy_location(marked(text, **parts), node)
