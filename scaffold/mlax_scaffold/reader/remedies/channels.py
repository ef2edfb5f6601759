"""Layers that a class declares, with channels last: what is written for flax and Keras has them there."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bodies import without_argument
from mlax_scaffold.reader.source import Source, self_attribute

FIELD = "channel_last"


def channels_last(source: Source, layers: Collection[str]) -> Fix | None:
    """The classes of a file with `channel_last=True` at each layer of these names; None where it has none.

    One that says where its channels are keeps it, and so does one whose arguments are not written down.
    """
    edits = [_added(source, call) for call in _calls(source, layers)]
    return Fix(tuple(edits)) if edits else None


def made_of(source: Source, owner: str, layers: Collection[str]) -> set[str]:
    """The attributes of self that a class makes such layers with."""
    return {
        name
        for call in _calls(source, layers, owner)
        for argument in (*call.args, *(k.value for k in call.keywords))
        if (name := self_attribute(argument))
    }


def _calls(
    source: Source, layers: Collection[str], owner: str | None = None
) -> list[ast.Call]:
    """Those that make such layers; of one class where it is named."""
    return [
        call
        for part in source.tree.body
        if isinstance(part, ast.ClassDef) and owner in (None, part.name)
        for call in walk(part)
        if isinstance(call, ast.Call) and _takes(call, layers)
    ]


def _added(source: Source, call: ast.Call) -> Edit:
    given = [*call.args, *(k.value for k in call.keywords)]
    if given:
        end = max(map(source.end, given))
        return source.replace(end, end, f", {FIELD}=True")
    line, column = source.end(call)
    return source.replace((line, column - 1), (line, column - 1), f"{FIELD}=True")


def _takes(call: ast.Call, layers: Collection[str]) -> bool:
    said = {k.arg for k in call.keywords}
    return (
        isinstance(call.func, ast.Name)
        and call.func.id in layers
        and not {FIELD, None} & said
        and not any(isinstance(a, ast.Starred) for a in call.args)
    )


_AXES = ("axis", "channel_axis", "feature_axes", "data_format")
"""What other libraries call the place of the channels."""


def by_place_of_channels(
    source: Source, call: ast.Call, keyword: ast.keyword
) -> Fix | None:
    """`BatchNorm(3, axis=-1)` as `BatchNorm(3, channel_last=True)`, and `axis=1` left out.

    None for an argument that says nothing of this kind.
    """
    if keyword.arg not in _AXES:
        return None
    match keyword.value:
        case (
            ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))
            | ast.Constant(value="NHWC" | "NWC" | "channels_last")
        ):
            return Fix((source.edit(keyword, f"{FIELD}=True"),))
        case ast.Constant(value=1 | "NCHW" | "NCW" | "channels_first"):
            return without_argument(source, call, keyword)
    return Fix()
