"""Lists in which layers of several kinds alternate, as a list for each kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.vocabulary import LISTS
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    NodeVisitor,
    located,
    walk,
)


def without_alternating_lists(origin: Origin, node: ast.ClassDef) -> None:
    """Write a list that a loop appends an up-sampling and a convolution to as two lists, in place.

    `for i in range(0, len(self.ups), 2)` with `self.ups[i]` and `self.ups[i + 1]` goes over both then, and so
    does what reads `self.ups[::2]` and `self.ups[1::2]`.
    """
    for filled in list(_filled(origin, node)):
        reads = _Reads(filled)
        reads.visit(node)
        if reads.known == reads.total:
            _Split(filled, reads.loops).visit(node)
            located(node)


@dataclass
class _Filled:
    """A list that one loop appends several layers to in each pass."""

    attribute: str
    assign: ast.Assign
    appends: list[ast.stmt] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.appends)

    def place(self, number: int) -> ast.Attribute:
        attribute = f"{self.attribute}_{number}"
        return ast.Attribute(ast.Name("self", ast.Load()), attribute, ast.Load())


def _filled(origin: Origin, node: ast.ClassDef) -> Iterator[_Filled]:
    begun = {
        attribute: part
        for part in walk(node)
        if isinstance(part, ast.Assign) and _is_empty(origin, part.value)
        for attribute in [self_attribute(part.targets[0])]
        if attribute is not None and len(part.targets) == 1
    }
    for loop in walk(node):
        if not isinstance(loop, ast.For):
            continue
        for attribute, assign in begun.items():
            found = [p for p in loop.body if _appends(p, attribute)]
            if len(found) > 1:
                yield _Filled(attribute, assign, found)


def _is_empty(origin: Origin, node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and origin.qualified(node.func) in LISTS:
        if not node.args:
            return True
        node = node.args[0]
    return isinstance(node, ast.List) and not node.elts


def _appends(node: ast.stmt, attribute: str) -> bool:
    match node:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=place, attr="append"), args=[_])
        ):
            return self_attribute(place) == attribute
    return False


class _Reads(NodeVisitor):
    """Counts how often the list is read, and how often in a way that is known."""

    def __init__(self, filled: _Filled):
        self.filled = filled
        self.total = 0
        self.known = 1 + filled.count
        self.loops: dict[str, ast.For] = {}
        """The loops that take as many as alternate in each pass, by the name of the index."""

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.total += self_attribute(node) == self.filled.attribute
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        index = _index(self.filled, node)
        if index is None or any(index in targets(part) for part in node.body):
            self.generic_visit(node)
            return
        self.known += 1
        outer = dict(self.loops)
        self.loops[index] = node
        self.generic_visit(node)
        self.loops = {**outer, index: node}

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if self_attribute(node.value) == self.filled.attribute:
            known = _number(self.filled, node.slice, set(self.loops))
            self.known += known is not None
        self.generic_visit(node)


def _index(filled: _Filled, node: ast.For) -> str | None:
    """The index of a loop over every so many elements of the list."""
    match node:
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(
                func=ast.Name(id="range"),
                args=[
                    first,
                    ast.Call(func=ast.Name(id="len"), args=[counted]),
                    step,
                ],
            ),
        ) if literal(first) == 0 and literal(step) == filled.count:
            return index if self_attribute(counted) == filled.attribute else None
    return None


def _number(filled: _Filled, node: ast.expr, loops: set[str]) -> int | None:
    """Which of those that alternate an index, or a slice, takes."""
    count = filled.count
    match node:
        case ast.Name(id=index) if index in loops:
            return 0
        case ast.BinOp(left=ast.Name(id=index), op=ast.Add(), right=right) if (
            index in loops
        ):
            at = literal(right)
            return at if isinstance(at, int) and 0 <= at < count else None
        case ast.Slice(lower=lower, upper=None, step=ast.expr() as step):
            at = literal(lower) if lower is not None else 0
            fits = isinstance(at, int) and 0 <= at < count
            return at if fits and literal(step) == count else None  # type: ignore[return-value]
    return None


class _Split(NodeTransformer):
    def __init__(self, filled: _Filled, loops: dict[str, ast.For]):
        self.filled, self.loops = filled, loops
        self.inside: set[str] = set()

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        if node is not self.filled.assign:
            self.generic_visit(node)
            return node
        made: list[ast.stmt] = []
        for number in range(self.filled.count):
            place = self.filled.place(number)
            place.ctx = ast.Store()
            made.append(ast.copy_location(ast.Assign([place], node.value), node))
        return made

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if node in self.filled.appends and isinstance(node.value, ast.Call):
            place = self.filled.place(self.filled.appends.index(node))
            node.value.func = ast.Attribute(place, "append", ast.Load())
            return node
        self.generic_visit(node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        index = next((i for i, loop in self.loops.items() if loop is node), None)
        if index is None:
            self.generic_visit(node)
            return node
        node.iter = expression("range(len(a))", a=self.filled.place(0))
        self.inside.add(index)
        node.body = [self.visit(part) for part in node.body]
        self.inside.discard(index)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if self_attribute(node.value) != self.filled.attribute:
            self.generic_visit(node)
            return node
        number = _number(self.filled, node.slice, self.inside)
        assert number is not None
        place = self.filled.place(number)
        if isinstance(node.slice, ast.Slice):
            return place
        index = next(n.id for n in walk(node.slice) if isinstance(n, ast.Name))
        return ast.Subscript(place, ast.Name(index, ast.Load()), ast.Load())

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        match node:
            case ast.BinOp(left=ast.Name(id=index) as left, op=ast.FloorDiv()) if (
                index in self.inside and literal(node.right) == self.filled.count
            ):
                return left
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.inside:
            count = ast.Constant(self.filled.count)
            return expression("n * i", n=count, i=node)
        return node
