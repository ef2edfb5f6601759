"""Properties as methods, which those that read them call."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.remedies.classes import undecorated
from mlax_scaffold.reader.remedies.names import uses_of_self
from mlax_scaffold.reader.source import Source


def as_method(source: Source, method: ast.FunctionDef) -> Fix | None:
    """The property without its decorator, and a call in the place of each use; None where it has several."""
    match method.decorator_list:
        case [decorator]:
            bare = undecorated(source, decorator)
        case _:
            return None
    uses = list(uses_of_self(source.tree, method.name))
    if bare is None or any(not isinstance(u.ctx, ast.Load) for u in uses):
        return None
    called = (source.edit(u, f"{source.text_of(u)}()") for u in uses)
    return Fix((*bare.edits, *called))
