"""Walks, copies and changes of syntax trees, as `ast` has them, in a fraction of the time.

A conversion goes through the trees of a file some thousands of times. `ast` looks at every field of every
node, most of which never hold another: here the fields that may are known for each class of nodes, and what
says only whether a name is read or bound (`ast.Load`) is no node that is walked or visited.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any, TypeVar

_Tree = TypeVar("_Tree")
_Node = TypeVar("_Node", bound=ast.AST)

_LEAVES = frozenset(
    ("arg", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "lineno")
) | frozenset(("module", "simple", "tag", "type_comment"))
"""Fields that hold texts, numbers and contexts, whatever the node."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each class of nodes that may hold nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        found = () if kind is ast.Constant else kind._fields
        self[kind] = tuple(field for field in found if field not in _LEAVES)
        return self[kind]


class _Methods(dict[type[ast.AST], str]):
    """What the method of a visitor for each class of nodes is called."""

    def __missing__(self, kind: type[ast.AST]) -> str:
        self[kind] = f"visit_{kind.__name__}"
        return self[kind]


_FIELDS = _Fields()
_METHODS = _Methods()


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, breadth first, as `ast.walk` yields them."""
    found = [tree]
    for node in found:  # It grows while it is gone through.
        for field in _FIELDS[node.__class__]:
            value = getattr(node, field, None)
            if isinstance(value, list):
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
        yield node


def cloned(tree: _Tree) -> _Tree:
    """A copy of a tree, of trees, or of what holds trees, that shares none with it."""
    if isinstance(tree, ast.AST):
        kind = tree.__class__
        made = kind.__new__(kind)
        made.__dict__ = {
            name: value if value.__class__ in _PLAIN else cloned(value)
            for name, value in tree.__dict__.items()
        }
        return made
    if tree.__class__ is list:
        return [cloned(part) for part in tree]  # type: ignore[return-value]
    return tree if tree.__class__ in _PLAIN else copy.deepcopy(tree)


_PLAIN = frozenset((str, int, float, bool, type(None)))
"""What is its own copy."""

_Place = tuple[int, int, int, int]


def located(tree: _Node) -> _Node:
    """Give each node without a place that of what it stands in, as `ast.fix_missing_locations`."""
    _locate(tree, (1, 0, 1, 0))
    return tree


def _locate(node: ast.AST, place: _Place) -> None:
    kind, known = node.__class__, node.__dict__
    if kind._attributes:
        line, column, end_line, end_column = place
        place = (
            known.setdefault("lineno", line),
            known.setdefault("col_offset", column),
            # These two are None where a node was made without them.
            known.get("end_lineno") or end_line,
            known.get("end_col_offset") or end_column,
        )
        known["end_lineno"], known["end_col_offset"] = place[2:]
    for field in _FIELDS[kind]:
        value = known.get(field)
        if isinstance(value, list):
            for part in value:
                if isinstance(part, ast.AST):
                    _locate(part, place)
        elif isinstance(value, ast.AST):
            _locate(value, place)


class NodeVisitor(ast.NodeVisitor):
    """Calls the method of each node's class, as `ast.NodeVisitor`."""

    def visit(self, node: ast.AST) -> Any:
        """Visit a node."""
        return getattr(self, _METHODS[node.__class__], self.generic_visit)(node)

    def generic_visit(self, node: ast.AST) -> Any:
        """Visit what stands in a node."""
        for field in _FIELDS[node.__class__]:
            value = getattr(node, field, None)
            if isinstance(value, list):
                for part in value:
                    if isinstance(part, ast.AST):
                        self.visit(part)
            elif isinstance(value, ast.AST):
                self.visit(value)


class NodeTransformer(NodeVisitor, ast.NodeTransformer):
    """Puts what the method of each node's class returns in its place, as `ast.NodeTransformer`."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit what stands in a node, and change it there."""
        for field in _FIELDS[node.__class__]:
            value = getattr(node, field, None)
            if isinstance(value, list):
                value[:] = self._visited(value)
            elif isinstance(value, ast.AST):
                made = self.visit(value)
                if made is None:
                    delattr(node, field)
                elif made is not value:
                    setattr(node, field, made)
        return node

    def _visited(self, parts: list[Any]) -> Iterator[Any]:
        for part in parts:
            made = self.visit(part) if isinstance(part, ast.AST) else part
            if made is None and part is not None:
                continue
            if isinstance(made, ast.AST) or made is part:
                yield made
            elif isinstance(made, list | tuple):
                yield from made
