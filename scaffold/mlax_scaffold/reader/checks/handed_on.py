"""Finds what is handed to a layer without being asked for: a key, the mode, and what `fwd` takes beside."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.reader.remedies.bodies import without_argument
from mlax_scaffold.reader.source import Source


def check_handed(source: Source, call: ast.Call, names: Collection[str]) -> None:
    """Report arguments by these names; one that holds a mode which is always the same has no edit."""
    for keyword in call.keywords:
        if keyword.arg not in names:
            continue
        value = keyword.value
        always = isinstance(value, ast.Constant) and isinstance(value.value, bool)
        source.report(
            keyword,
            f"`{keyword.arg}` is handed to a layer without being asked for",
            "Layers are trained where the one is that they stand in."
            if always
            else "Leave it out.",
            fix=None if always else without_argument(source, call, keyword),
        )
