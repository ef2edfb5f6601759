"""The text of a tree, the same on every version of Python."""

from __future__ import annotations

import ast
from copy import deepcopy

from mlax_scaffold.model.walking import walk

_QUOTES = ("'", '"', '"""', "'''")
_MARKS = {-1: "", ord("s"): "!s", ord("r"): "!r", ord("a"): "!a"}


def unparsed(node: ast.AST) -> str:
    """The text of a tree.

    Formatted strings are written by `ast.unparse` with other quotes since Python 3.12, and with
    those that stand inside of them, which Python 3.11 cannot read. Here no quotes are those of a
    part.
    """
    if any(isinstance(part, ast.JoinedStr) for part in walk(node)):
        node = _Strings().visit(deepcopy(node))
    return ast.unparse(node)


class _Strings(ast.NodeTransformer):
    """Puts the text of a formatted string in its place, as a name, which is written as it is."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        text = _parts(node)
        quotes = next((q for q in _QUOTES if q not in text and text[-1:] != q[0]), None)
        # Only newer versions of Python have one that holds all kinds of quotes.
        return node if quotes is None else ast.Name(f"f{quotes}{text}{quotes}")


def _parts(node: ast.JoinedStr) -> str:
    return "".join(map(_part, node.values))


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        # The representation escapes what cannot be seen, and quotes where there are both kinds.
        text = repr(str(node.value) + '"')[1:-2].replace("\\'", "'")
        return text.replace("{", "{{").replace("}", "}}")
    if not isinstance(node, ast.FormattedValue):
        return unparsed(node)
    text = unparsed(node.value)
    made = f"{{{' ' if text.startswith('{') else ''}{text}{_MARKS[node.conversion]}"
    if isinstance(node.format_spec, ast.JoinedStr):
        made += f":{_parts(node.format_spec)}"
    return f"{made}}}"
