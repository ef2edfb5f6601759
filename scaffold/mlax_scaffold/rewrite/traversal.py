"""Visitors of libcst's trees that touch what they have a method for, and copy what changes.

Those of libcst call four methods for each node and build every node anew, which takes most of
the time of a rewrite. The classes here are used like theirs, `node.visit(visitor)`, and call
the same methods in the same order: that of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import libcst as cst

_Handler = Callable[..., Any]
_Result = cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[Any]


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes directly below one, in the order of the text."""
    for name in _fields(node):
        value = getattr(node, name)
        kind = type(value)
        if kind is tuple or kind is list:
            yield from value
        elif value is not None and kind is not cst.MaybeSentinel:
            yield value


def parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node, and all that is below it."""
    yield node
    for child in children(node):
        yield from parts(child)


class Visitor(cst.CSTVisitor):
    """Looks at a tree: `visit_Name(node)`, which may return False, and `leave_Name(node)`."""

    def on_visit(self, node: cst.CSTNode) -> bool:
        self._look(node)
        return False

    def on_leave(self, original_node: cst.CSTNode) -> None:
        """All has been done by `on_visit`."""

    def _look(self, node: cst.CSTNode) -> None:
        visit, leave = _handlers(type(self), type(node))
        if visit is None or visit(self, node) is not False:
            for child in children(node):
                self._look(child)
        if leave is not None:
            leave(self, node)


class Transformer(cst.CSTTransformer):
    """Changes a tree: `visit_Name(node)`, and `leave_Name(original_node, updated_node)`.

    What no method changes stays the same object.
    """

    def __init__(self) -> None:
        super().__init__()
        self._results: list[Any] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self._results.append(self.changed(node))
        return False

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> Any:
        return self._results.pop()

    def changed(self, node: cst.CSTNode) -> Any:
        """What becomes of a node and all below it."""
        visit, leave = _handlers(type(self), type(node))
        updated = node
        if visit is None or visit(self, node) is not False:
            updated = self._over_fields(node)
        return updated if leave is None else leave(self, node, updated)

    def _over_fields(self, node: cst.CSTNode) -> cst.CSTNode:
        changes: dict[str, Any] = {}
        for name in _fields(node):
            value = getattr(node, name)
            kind = type(value)
            if kind is tuple or kind is list:
                new = self._over_sequence(value) if value else value
                if new is not value:
                    changes[name] = new
            elif value is not None and kind is not cst.MaybeSentinel:
                new = self.changed(value)
                if new is not value:
                    changes[name] = _single(node, name, new)
        return node.with_changes(**changes) if changes else node

    def _over_sequence(self, nodes: Sequence[cst.CSTNode]) -> Sequence[cst.CSTNode]:
        found: list[cst.CSTNode] = []
        for node in nodes:
            new = self.changed(node)
            if isinstance(new, cst.FlattenSentinel):
                found.extend(part for part in new if _is_left(node, part))
            elif not isinstance(new, cst.RemovalSentinel) and _is_left(node, new):
                found.append(new)
        same = len(found) == len(nodes) and all(map(_is, found, nodes))
        return nodes if same else tuple(found)


def _is(one: object, other: object) -> bool:
    return one is other


def _is_left(before: cst.CSTNode, after: cst.CSTNode) -> bool:
    """Whether anything is left of a line whose statements may have been removed."""
    emptied = isinstance(after, cst.SimpleStatementLine) and not after.body
    return not emptied or (
        isinstance(before, cst.SimpleStatementLine) and not before.body
    )


def _single(parent: cst.CSTNode, name: str, new: _Result) -> Any:
    """What stands in a field that holds one node, if any."""
    if isinstance(new, cst.CSTNode):
        return new
    default = parent.__dataclass_fields__[name].default
    if isinstance(new, cst.FlattenSentinel) or not (
        default is None or isinstance(default, cst.MaybeSentinel)
    ):
        raise TypeError(f"{name} of {type(parent).__name__} has to be one node")
    return default


@cache
def _handlers(
    visitor: type[Visitor | Transformer], kind: type[cst.CSTNode]
) -> tuple[_Handler | None, _Handler | None]:
    """The methods of a visitor for a kind of nodes, where it has its own."""
    base = cst.CSTVisitor if issubclass(visitor, cst.CSTVisitor) else cst.CSTTransformer
    visit, leave = (f"{when}_{kind.__name__}" for when in ("visit", "leave"))
    return _own(visitor, base, visit), _own(visitor, base, leave)


def _own(visitor: type, base: type, name: str) -> _Handler | None:
    method = getattr(visitor, name, None)
    return None if method is getattr(base, name, None) else method


_LAST = "format_spec"
"""The only field that libcst tells nothing of where it holds nothing."""

_ORDERS: dict[type[cst.CSTNode], tuple[str, ...]] = {}


def _fields(node: cst.CSTNode) -> tuple[str, ...]:
    """The fields of a node that may hold nodes, in the order of the text."""
    kind = type(node)
    if kind not in _ORDERS:
        order = _Order(node)
        node.visit(order)
        if hasattr(node, _LAST) and _LAST not in order.found:
            order.found.append(_LAST)
        _ORDERS[kind] = tuple(order.found)
    return _ORDERS[kind]


class _Order(cst.CSTVisitor):
    """Has libcst tell in which order it visits the fields of a node."""

    def __init__(self, node: cst.CSTNode) -> None:
        super().__init__()
        self.node = node
        self.found: list[str] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node is self.node

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        self.found.append(attribute)
