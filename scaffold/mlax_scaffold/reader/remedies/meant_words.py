"""Words that a spec imports by other names: those of other libraries, and misspelt ones."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.read_names import bound_in
from mlax_scaffold.reader.source import Source
from mlax_scaffold.spelling import misspelt

_ELSEWHERE = {
    "buffer": "state",
    "non_trainable": "state",
    "nontrainable": "state",
    "param": "trainable",
    "parameter": "trainable",
    "variable": "state",
}
"""What declarations are called in other libraries."""


def meant_word(name: str, known: Collection[str]) -> str:
    """The word that a name means; "" where that is not certain."""
    return _ELSEWHERE.get(name) or misspelt(name, known)


def with_meant_word(source: Source, alias: ast.alias, meant: str) -> Fix | None:
    """The word instead of what is imported, wherever the spec has it; None where the name is bound again."""
    again = alias.name in bound_in(ast.walk(source.tree))
    if not meant or alias.asname or again:
        return None
    uses = [
        source.edit(node, meant)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Name) and node.id == alias.name
    ]
    return Fix((source.edit(alias, meant), *uses))
