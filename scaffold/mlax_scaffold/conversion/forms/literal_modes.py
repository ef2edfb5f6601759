"""Layers of linen that are made in one mode, as layers that are called in it.

nn.Dropout(0.1, deterministic=True)(x)    becomes    nn.Dropout(0.1)(x, deterministic=True)

Attention that is always called in inference, in any library, has no rate.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_FLAGS = {
    **dict.fromkeys(
        ("Dropout", "SelfAttention", "MultiHeadAttention"), "deterministic"
    ),
    "MultiHeadDotProductAttention": "deterministic",
    "BatchNorm": "use_running_average",
}


_RATES = {
    **dict.fromkeys(
        ("flax.linen.SelfAttention", "flax.linen.MultiHeadAttention"), "dropout_rate"
    ),
    "flax.linen.MultiHeadDotProductAttention": "dropout_rate",
    "flax.nnx.MultiHeadAttention": "dropout_rate",
    "equinox.nn.MultiheadAttention": "dropout_p",
}
_INFERS = ("deterministic", "inference")


def with_called_modes(origin: Origin) -> None:
    """Write them so, in place: where they are called as they are made, or by their attribute."""
    for node in origin.classes.values():
        if framework_of(origin, node) == "flax":
            _called_in_mode(origin, node)
        _without_rates(origin, node)


def _without_rates(origin: Origin, node: ast.ClassDef) -> None:
    calls = [part for part in walk(node) if isinstance(part, ast.Call)]
    for part in walk(node):
        making: ast.expr | None = None
        called: list[ast.Call] = []
        if isinstance(part, ast.Call):
            making, called = part.func, [part]
        elif isinstance(part, ast.Assign) and self_attribute(part.targets[0]):
            making, attribute = part.value, self_attribute(part.targets[0])
            called = [c for c in calls if self_attribute(c.func) == attribute]
        if not isinstance(making, ast.Call):
            continue
        rate = _RATES.get(origin.qualified(making.func))
        if rate and called and all(map(_infers, called)):
            making.keywords = [k for k in making.keywords if k.arg != rate]


def _infers(call: ast.Call) -> bool:
    return any(k.arg in _INFERS and literal(k.value) is True for k in call.keywords)


def _called_in_mode(origin: Origin, node: ast.ClassDef) -> None:
    kept: dict[str, ast.keyword] = {}
    for part in walk(node):
        if isinstance(part, ast.Assign) and len(part.targets) == 1:
            attribute = self_attribute(part.targets[0])
            flag = _taken(origin, part.value) if attribute else None
            if attribute is not None and flag is not None:
                kept[attribute] = flag
    for part in walk(node):
        if not isinstance(part, ast.Call):
            continue
        flag = _taken(origin, part.func) or kept.get(self_attribute(part.func) or "")
        if flag is not None and flag.arg not in {k.arg for k in part.keywords}:
            part.keywords.append(flag)


def _taken(origin: Origin, making: ast.expr) -> ast.keyword | None:
    """The flag that a layer is made with, taken from it; None where it is none, or no literal."""
    if not isinstance(making, ast.Call):
        return None
    title = origin.qualified(making.func).removeprefix("flax.linen.")
    for keyword in making.keywords:
        told = isinstance(literal(keyword.value), bool)
        if told and keyword.arg is not None and keyword.arg == _FLAGS.get(title):
            making.keywords.remove(keyword)
            return keyword
    return None
