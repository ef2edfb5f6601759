"""The values of an example, of what takes none of those that are chosen."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.source import Source


def with_example(source: Source, values: Mapping[str, str], name: str) -> Fix | None:
    """The class of that name with an example of these values; None where it has some."""
    for node in source.tree.body:
        if not isinstance(node, ast.ClassDef) or node.name != name or not values:
            continue
        methods = [s for s in node.body if isinstance(s, ast.FunctionDef)]
        given = [s for s in node.body if isinstance(s, ast.Assign | ast.AnnAssign)]
        targets = [t for s in given for t in getattr(s, "targets", ())]
        if not methods or any(getattr(t, "id", "") == "examples" for t in targets):
            return None
        first = methods[0].decorator_list[:1] or methods[:1]
        line, column = source.start(first[0])
        column -= len("@") if methods[0].decorator_list else 0
        parts = ", ".join(f'"{key}": {value}' for key, value in values.items())
        indent = " " * (column - 1)
        text = f"examples = ({{{parts}}},)\n\n{indent}"
        return Fix((source.replace((line, column), (line, column), text),))
    return None
