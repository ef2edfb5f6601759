"""Heads of examples, which divide features that are fewer there than by default: 12 of 768, and 2 of 8."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mlax_scaffold.conversion.examples.computing import default_of
from mlax_scaffold.conversion.examples.field_values import DEPTHS
from mlax_scaffold.conversion.output.description import Field

_HEADS = re.compile(r"(^|_)n?heads?$")
_OF_ONE = re.compile(r"(head_?(dim|size|features|width)|(dim|size|features)_head)s?$")
"""Features of one head, which what all have together is computed of."""
_FEW = 2


def few_heads(
    values: Mapping[str, object], fields: Iterable[Field], given: Mapping[str, object]
) -> dict[str, object]:
    """Numbers of heads that leave each of them several features; nothing where they do as they are.

    Those that others share, such as heads of keys, stay in proportion.
    """
    defaults = {f.name: default_of(f.default) for f in fields if f.default is not None}
    heads = {n: v for n, v in values.items() if _HEADS.search(n) and type(v) is int}
    whole = {n: v for n, v in heads.items() if defaults.get(n) == v and n not in given}
    most = max(whole.values(), default=0)
    if len(whole) < len(heads) or most <= _FEW or any(map(_OF_ONE.search, defaults)):
        return {}
    narrow = [
        value
        for name, value in values.items()
        if type(value) is int and name not in heads and not DEPTHS.search(name)
        if type(width := defaults.get(name)) is int
        if width > value and width % most == 0
        if value < 2 * most and value % _FEW == 0
    ]
    if not narrow:
        return {}
    return {name: max(1, number * _FEW // most) for name, number in whole.items()}
