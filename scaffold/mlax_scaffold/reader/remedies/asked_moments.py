"""Questions whether a leaf has a moment, of moments that every leaf has, with nothing in them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from mlax_scaffold.errors import Edit
from mlax_scaffold.reader.source import Source, is_none, self_attribute


def asked(source: Source, names: Collection[str], lists: Collection[str]) -> list[Edit]:
    """`self.name is None` as a question of what a moment holds, in the whole file.

    Args:
        source: the file.
        names: moments that are `(0,)` where a leaf has none.
        lists: those that are lists, which are empty there.
    """
    edits = []
    for test, name in _questions(source.tree):
        there = isinstance(test.ops[0], ast.IsNot | ast.NotEq)
        if name in lists:
            text = f"len(self.{name}) > 0" if there else f"not self.{name}"
        elif name in names:
            text = f"self.{name}.size {'>' if there else '=='} 0"
        else:
            continue
        edits.append(source.edit(test, text))
    return edits


def _questions(tree: ast.AST) -> Iterator[tuple[ast.Compare, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Compare(
                left=owner,
                ops=[ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq()],
                comparators=[other],
            ) if is_none(other) and (name := self_attribute(owner)):
                yield node, name
