"""A docstring for a definition that has none."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.docstrings import split_docstring
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.reader.source import Source


def documented(source: Source, node: ast.ClassDef | ast.FunctionDef) -> Fix | None:
    """The summary of the file below the line of a definition, or the words of its name; to be looked at."""
    first = node.body[0]
    if first.lineno == node.lineno or isinstance(first, ast.Expr):
        return None  # on one line with its name, or an empty docstring
    told, _ = split_docstring(ast.get_docstring(source.tree) or "")
    if not told or '"' in told[-1:] or '"""' in told or "\\" in told:
        told = module_name(node.name).replace("_", " ").capitalize() + "."
    indent = source.lines[first.lineno - 1][: first.col_offset]
    line = min(d.lineno for d in (first, *getattr(first, "decorator_list", ())))
    # Comments above the first statement are of that.
    while source.lines[line - 2].lstrip().startswith("#"):
        line -= 1
    blank = "\n" if isinstance(node, ast.ClassDef) else ""
    text = f'{indent}"""{told}"""\n{blank}'
    return Fix((source.replace((line, 1), (line, 1), text),))
