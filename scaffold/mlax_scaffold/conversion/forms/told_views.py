"""Shapes with a name, `shape = x.size()[:-1] + (heads, width)`, written where arrays are given them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_VIEWS = ("view", "reshape")


def without_named_shapes(origin: Origin) -> None:
    """Write them out in place, where the arrays that they are those of are still the same."""
    for node in walk(origin.tree):
        if isinstance(node, ast.FunctionDef):
            _Views(node, dict(_shapes(node))).visit(node)
            located(node)


def _shapes(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Assign]]:
    """The locals of a function that are bound once, to a shape whose first axes are an array's."""
    bound = [p.id for p in _stores(function)]
    for part in walk(function):
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            local = part.targets[0].id
            if bound.count(local) == 1 and (
                _parts(part.value) is not None or _first_axes(part.value)
            ):
                yield local, part


def _stores(node: ast.AST) -> list[ast.Name]:
    return [
        p
        for p in walk(node)
        if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)
    ]


def _first_axes(node: ast.expr) -> bool:
    """Whether it is the like of `x.size()[:-1]` or `x.shape[:2]`."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Slice)
        and node.slice.lower is None
        and ast.unparse(node.value).endswith((".shape", ".size()"))
    )


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """The sizes of such a shape, the first axes as one that is starred; None for anything else."""
    match node:
        case ast.BinOp(left=first, op=ast.Add(), right=ast.Tuple(elts=rest)):
            if _first_axes(first) or isinstance(first, ast.Name):
                return [ast.Starred(first, ast.Load()), *rest]
        case ast.Tuple(elts=[ast.Starred() as first, *rest]):
            return [first, *rest]
        case ast.Call(func=ast.Attribute(attr="Size"), args=[inner]):
            return _parts(inner)
    return None


def _is_kept(node: ast.expr) -> bool:
    """Whether a size is the same anywhere in a method: a number, or an attribute of the object."""
    return isinstance(node, ast.Constant) or self_attribute(node) is not None


def _read_elsewhere(function: ast.FunctionDef) -> Iterator[str]:
    """The names that are read anywhere but as the shape of a view."""
    views = {
        id(p.args[0])
        for p in walk(function)
        if isinstance(p, ast.Call)
        and len(p.args) == 1
        and getattr(p.func, "attr", "") in _VIEWS
    }
    for part in walk(function):
        if (
            isinstance(part, ast.Name)
            and isinstance(part.ctx, ast.Load)
            and id(part) not in views
        ):
            yield part.id


class _Views(NodeTransformer):
    def __init__(self, function: ast.FunctionDef, shapes: dict[str, ast.Assign]):
        self.shapes = shapes
        self.stores = _stores(function)
        self.behind: dict[str, list[ast.expr]] = {}
        self.viewed = set(shapes) - {*_read_elsewhere(function)}

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        views = isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS
        if views and len(node.args) == 1:
            given = node.args[0]
            inner = given.value if isinstance(given, ast.Starred) else given
            node.args = self._written(inner, node.lineno) or node.args
        return node

    def _written(self, node: ast.expr, line: int) -> list[ast.expr] | None:
        if isinstance(node, ast.Name):
            known = self.shapes.get(node.id)
            if known is not None and not self._stands(known, line):
                return self._behind_first_axes(node.id, known)
            return self._written(known.value, line) if known is not None else None
        parts = _parts(node)
        if parts is None:
            return None
        first = parts[0].value if isinstance(parts[0], ast.Starred) else parts[0]
        if isinstance(first, ast.Name):
            known = self.shapes.get(first.id)
            if (
                known is None
                or not _first_axes(known.value)
                or not self._stands(known, line)
            ):
                return None
            first = known.value
        if not _first_axes(first):
            return None
        made = [ast.Starred(first, ast.Load()), *parts[1:]]
        return [cloned(part) for part in made]

    def _behind_first_axes(
        self, title: str, known: ast.Assign
    ) -> list[ast.expr] | None:
        """What stands behind the first axes of an array that is bound anew: these keep the name."""
        parts = self.behind.get(title) or _parts(known.value) or []
        if not parts or not all(map(_is_kept, parts[1:])):
            return None
        first = parts[0].value if isinstance(parts[0], ast.Starred) else parts[0]
        if not _first_axes(first) or title not in self.viewed:
            return None
        self.behind[title] = parts
        known.value = first
        made = ast.Starred(ast.Name(title, ast.Load()), ast.Load())
        return [made, *map(cloned, parts[1:])]

    def _stands(self, known: ast.Assign, line: int) -> bool:
        """Whether nothing that a shape is made of is bound anew between it and a line."""
        read = {p.id for p in walk(known.value) if isinstance(p, ast.Name)}
        return not any(
            p.id in read and known.lineno < p.lineno < line for p in self.stores
        )
