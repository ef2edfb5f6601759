"""Finds what is Python, and yet means something else to some of its readers, or cannot be read at all."""

from __future__ import annotations

import ast
import re

from mlax_scaffold.model.import_time import MAX_BITS
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source

# PEP 263; Python looks for it on the first two lines.
_ENCODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_UTF_8 = re.compile(r"utf[-_]?8([-_].*)?", re.IGNORECASE)


def check_syntax(source: Source, tree: ast.Module) -> None:
    """Report what is read in different ways by Python, by the generator and by people."""
    for number, line in enumerate(source.lines[:2], 1):
        found = _ENCODING.match(line)
        if found and not _UTF_8.fullmatch(found[1]):
            source.report(
                number,
                f"the spec says that its encoding is {found[1]}",
                "Specs are UTF-8: remove the comment.",
            )
    for node in walk(tree):
        match node:
            case ast.Constant(value=int(value)) if value.bit_length() > MAX_BITS:
                source.report(
                    node,
                    f"a number of {value.bit_length()} bits",
                    "Numbers have at most as many as the largest of float64: "
                    f"{MAX_BITS}.",
                )
            case ast.AnnAssign(target=ast.Name(id=name), simple=0):
                source.report(
                    node.target,
                    f"`({name})` is annotated in parentheses, and so declares nothing",
                    f"Write `{name}: ...`.",
                )
