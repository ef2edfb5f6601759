"""Lists of layers of several kinds that loops of known length fill: each layer is an attribute then.

self.parts = nn.ModuleList()
self.parts.append(stem)
for i in range(3):
    self.parts.append(nn.Sequential(norm(dims[i]), nn.Conv2d(dims[i], dims[i + 1], 2)))

becomes

self.parts_0 = stem
self.parts_1 = nn.Sequential(norm(dims[0]), nn.Conv2d(dims[0], dims[1], 2))
...
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    folded,
    is_name,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_LISTS = ("torch.nn.ModuleList", "flax.nnx.List")
_MOST = 8
"""Loops of more passes are not written out."""


def without_unrolled_lists(origin: Origin, node: ast.ClassDef) -> None:
    """Change a class in place, where such lists are only called at known places or in order."""
    start = next((f for f in node.body if getattr(f, "name", "") == "__init__"), None)
    if not isinstance(start, ast.FunctionDef):
        return
    begun = dict(_begun(origin, start))
    if not any(begun.values()):
        return
    # Beside one of them all that such loops fill is, as what calls them is written out.
    for title in sorted(begun, key=lambda t: not begun[t]):
        made = cloned(node)
        if _written(made, title):
            node.body = made.body
            located(node)


def _begun(origin: Origin, start: ast.FunctionDef) -> Iterator[tuple[str, bool]]:
    """Lists that begin empty, and that loops append to; whether lines outside of these do, too."""
    for part in start.body:
        if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.Call):
            continue
        title = self_attribute(part.targets[0])
        if title is None or part.value.args:
            continue
        if origin.qualified(part.value.func) not in _LISTS:
            continue
        alone = any(_appended(s, title) is not None for s in start.body)
        inside = any(
            _appended(s, title) is not None
            for loop in start.body
            if isinstance(loop, ast.For) and _passes(loop) is not None
            for s in loop.body
        )
        if inside:
            yield title, alone


def _appended(node: ast.stmt, title: str) -> ast.expr | None:
    """What a statement appends to the list."""
    match node:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[given])
        ) if self_attribute(owner) == title:
            return given
    return None


def _passes(loop: ast.For) -> int | None:
    """How often a loop over `range(3)` is run."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[count]):
            number = literal(count)
            if type(number) is int and 0 < number <= _MOST and not loop.orelse:
                return number
    return None


def _written(node: ast.ClassDef, title: str) -> bool:
    start = next(f for f in node.body if getattr(f, "name", "") == "__init__")
    assert isinstance(start, ast.FunctionDef)
    count = 0
    body: list[ast.stmt] = []
    for part in start.body:
        if isinstance(part, ast.Assign) and self_attribute(part.targets[0]) == title:
            continue
        for one in _unrolled(part, title):
            given = _appended(one, title)
            if given is None:
                body.append(one)
                continue
            owner = ast.Name("self", ast.Load())
            target = ast.Attribute(owner, f"{title}_{count}", ast.Store())
            body.append(ast.copy_location(ast.Assign([target], given), one))
            count += 1
    start.body = body
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method is not start:
            method.body = [
                one for part in method.body for one in _called(part, title, count)
            ]
    places = _Places(title, count)
    places.visit(node)
    return not any(self_attribute(part) == title for part in walk(node))


def _unrolled(node: ast.stmt, title: str) -> list[ast.stmt]:
    """The passes of a loop that appends to the list, one after the other."""
    if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
        return [node]
    count = _passes(node)
    if count is None or not any(_appended(s, title) is not None for s in node.body):
        return [node]
    return [
        _Numbers({node.target.id: ast.Constant(i)}).visit(cloned(part))
        for i in range(count)
        for part in _without_locals(node.body, title)
    ]


def _without_locals(body: list[ast.stmt], title: str) -> list[ast.stmt]:
    """The statements of a pass, of which one appends what another one binds to a name."""
    values = {
        part.targets[0].id: part
        for part in body
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    }
    made: list[ast.stmt] = []
    gone: set[int] = set()
    for part in body:
        given = _appended(part, title)
        if isinstance(given, ast.Name) and given.id in values:
            bound = values[given.id]
            read = [p for s in body for p in walk(s) if is_name(p, given.id)]
            if len(read) == 2:
                one = cloned(part)
                one.value.args = [bound.value]  # type: ignore[attr-defined]
                gone.add(id(bound))
                made.append(one)
                continue
        made.append(part)
    return [part for part in made if id(part) not in gone]


def _called(node: ast.stmt, title: str, count: int) -> list[ast.stmt]:
    """The passes of a loop over the list, or over its places."""
    reads = any(self_attribute(part) == title for part in walk(node))
    if not isinstance(node, ast.For) or not reads:
        return [node]
    if not isinstance(node.target, ast.Name):
        return [node]
    places: list[ast.expr] = []
    if self_attribute(node.iter) == title:
        places = [_place(title, i) for i in range(count)]
    elif (passes := _passes(node)) is not None:
        places = [ast.Constant(i) for i in range(passes)]
    if not places:
        return [node]
    return [
        _Numbers({node.target.id: place}).visit(cloned(part))
        for place in places
        for part in node.body
    ]


def _place(title: str, at: int) -> ast.expr:
    return ast.Attribute(ast.Name("self", ast.Load()), f"{title}_{at}", ast.Load())


class _Numbers(NodeTransformer):
    """Writes the number of a pass in the place of its name."""

    def __init__(self, given: Mapping[str, ast.expr]):
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.given and isinstance(node.ctx, ast.Load):
            return cloned(self.given[node.id])
        return node


class _Places(NodeTransformer):
    """Writes `self.layers[2]` as the attribute that it is."""

    def __init__(self, title: str, count: int):
        self.title, self.count = title, count

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        at = literal(folded(node.slice))
        known = self_attribute(node.value) == self.title and type(at) is int
        if known and isinstance(at, int) and -self.count <= at < self.count:
            return ast.copy_location(_place(self.title, at % self.count), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        counts = is_name(node.func, "len") and len(node.args) == 1
        if counts and self_attribute(node.args[0]) == self.title:
            return ast.copy_location(ast.Constant(self.count), node)
        return node
