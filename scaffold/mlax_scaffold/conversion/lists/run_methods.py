"""Methods that go through lists of layers of several kinds, written out: each layer is an attribute then.

`for i in range(3): x = self.downs[i](x)` becomes `x = self.downs_0(x)` and so on, as do loops over the list.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.computed_literals import written
from mlax_scaffold.conversion.source.known_values import (
    Known,
    items_of,
    truth,
    unpacked,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_none,
    literal,
    same,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import cloned, walk

Parts = ast.expr | list["Parts"]


def with_run_methods(
    node: ast.ClassDef,
    start: ast.FunctionDef,
    settled: Mapping[str, ast.expr],
    lists: Collection[str],
    origin: Origin,
) -> None:
    """Change a class in place.

    Args:
        node: the class.
        start: its constructor, which holds no loops that are known any more.
        settled: attributes that are literals.
        lists: the full names of what holds layers.
        origin: the file.
    """
    held = {
        str(self_attribute(part.targets[0])): part
        for part in start.body
        if isinstance(part, ast.Assign)
        and self_attribute(part.targets[0])
        and isinstance(part.value, ast.Call)
        and origin.qualified(part.value.func) in lists
        and part.value.args
        and isinstance(part.value.args[0], ast.List)
    }
    methods = [
        m for m in node.body if isinstance(m, ast.FunctionDef) and m is not start
    ]
    for title, part in held.items():
        assert isinstance(part.value, ast.Call)
        elements = items_of(part.value.args[0]) or []
        if not elements or any(isinstance(e, ast.Starred) for e in elements):
            if len(elements) == 1:
                part.value.args[0] = elements[0].value  # type: ignore[attr-defined]
            continue
        if _is_left(methods, title):
            continue
        if not _is_taken(methods, title) and not any(
            _nested(origin, lists, e) for e in elements
        ):
            continue
        made: list[ast.stmt] = []
        places = _numbered(origin, lists, title, elements, made, part)
        at = start.body.index(part)
        start.body[at : at + 1] = made
        known = Known({}, {**settled, title: _listed(places)})
        written = Written(known, partial(_takes, title))
        for method in methods:
            method.body = _told(written.statements(method.body))


def _takes(title: str, node: ast.AST) -> bool:
    return self_attribute(node) == title


def _is_taken(methods: list[ast.FunctionDef], title: str) -> bool:
    """Whether methods take layers of a list by their place, or with something else."""
    plain = {
        id(part.iter)
        for method in methods
        for part in walk(method)
        if isinstance(part, ast.For) and isinstance(part.target, ast.Name)
    }
    return any(
        self_attribute(part) == title and id(part) not in plain
        for method in methods
        for part in walk(method)
    )


def _is_left(methods: list[ast.FunctionDef], title: str) -> bool:
    """Whether a loop over a list has passes that end early, which written out is none of a method."""
    ends = ast.Break | ast.Continue
    return any(
        any(self_attribute(p) == title for p in walk(part.iter))
        and (part.orelse or any(isinstance(p, ends) for p in walk(part)))
        for method in methods
        for part in walk(method)
        if isinstance(part, ast.For)
    )


def _nested(
    origin: Origin, lists: Collection[str], node: ast.expr
) -> list[ast.expr] | None:
    """The layers of a list in a list."""
    if isinstance(node, ast.Call) and origin.qualified(node.func) in lists:
        return items_of(node.args[0]) if node.args else []
    return items_of(node)


def _numbered(
    origin: Origin,
    lists: Collection[str],
    title: str,
    elements: list[ast.expr],
    made: list[ast.stmt],
    part: ast.stmt,
) -> list[Parts]:
    """An attribute for each layer."""
    places: list[Parts] = []
    for i, element in enumerate(elements):
        inner = _nested(origin, lists, element)
        name = f"{title}_{i}"
        if inner is not None:
            places.append(_numbered(origin, lists, name, inner, made, part))
            continue
        owner = ast.Name("self", ast.Load())
        target = ast.Attribute(owner, name, ast.Store())
        made.append(ast.copy_location(ast.Assign([target], element), part))
        places.append(ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load()))
    return places


def _listed(places: list[Parts]) -> ast.List:
    return ast.List(
        [_listed(p) if isinstance(p, list) else cloned(p) for p in places],
        ast.Load(),
    )


class Written:
    """Writes what a method does with layers that it takes by their places, or by names that it computes.

    Args:
        known: what attributes are.
        reads: whether a part of a method takes such a layer.
    """

    def __init__(self, known: Known, reads: Callable[[ast.AST], bool]):
        self.known, self._reads_one = known, reads
        self._ranges: dict[str, ast.expr] = {}
        """Locals that are ranges where a statement stands."""

    def _reads(self, node: ast.AST) -> bool:
        return any(map(self._reads_one, walk(node)))

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements with the layers of the list in place."""
        found: list[ast.stmt] = []
        for node in body:
            if not self._reads(node):
                self._remember(node)
                found.append(node)
            elif isinstance(node, ast.For):
                found += self._loop(node)
            elif isinstance(node, ast.If):
                node.test = self.known.value(node.test)
                decided = truth(node.test)
                if decided is not None:
                    found += self.statements(node.body if decided else node.orelse)
                    continue
                node.body = self.statements(node.body)
                node.orelse = self.statements(node.orelse)
                self._remember(node)
                found.append(node)
            else:
                found.append(self.known.visit(node))
        return found

    def _remember(self, node: ast.stmt) -> None:
        """Know the range that a statement binds, and no more what a name was that it binds otherwise."""
        for title in stored_names(node):
            self._ranges.pop(title, None)
        match node:
            case ast.Assign(
                targets=[ast.Name(id=title)],
                value=ast.Call(func=ast.Name(id="range")) as value,
            ):
                self._ranges[title] = value

    def _loop(self, node: ast.For) -> list[ast.stmt]:
        if isinstance(node.iter, ast.Name) and node.iter.id in self._ranges:
            node.iter = cloned(self._ranges[node.iter.id])
        items = items_of(_beside_known(self.known.value(node.iter), node.body))
        if items is None:
            node.body = self.statements(node.body)
            return [node]
        made: list[ast.stmt] = []
        for item in items:
            pairs = unpacked(node.target, item)
            if pairs is None:
                return [node]
            stored = {
                p.id
                for s in node.body
                for p in walk(s)
                if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)
            }
            first = [
                ast.copy_location(ast.Assign([ast.Name(n, ast.Store())], v), node)
                for n, v in pairs.items()
                if n in stored
            ]
            bound = Known(
                {k: v for k, v in pairs.items() if k not in stored},
                self.known.attributes,
            )
            passed = [bound.visit(cloned(s)) for s in node.body]
            made += [*first, *self.statements(_decided(passed))]
        return made


def _beside_known(source: ast.expr, body: Sequence[ast.stmt]) -> ast.expr:
    """What a loop goes over, where lists beside one that is known are taken by their places.

    `zip([self.ups_0, self.ups_1], skips[::-1])` becomes `[(self.ups_0, skips[-1]), (self.ups_1, skips[-2])]`.

    Args:
        source: what the loop goes over.
        body: its passes, which may change such a list.
    """
    match source:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            source.args[0] = _beside_known(inner, body)
            return Known({}, {}).visit(source)
        case ast.Call(func=ast.Name(id="zip"), args=given, keywords=[]):
            lengths = [len(i) for i in map(items_of, given) if i is not None]
            if not lengths or any(isinstance(a, ast.Starred) for a in given):
                return source
            columns = [_places_of(a, min(lengths), body) for a in given]
            whole = [c for c in columns if c is not None]
            if len(whole) < len(columns):
                return source
            rows = zip(*whole, strict=False)
            return ast.List([ast.Tuple([*r], ast.Load()) for r in rows], ast.Load())
    return source


def _places_of(
    node: ast.expr, count: int, body: Sequence[ast.stmt]
) -> list[ast.expr] | None:
    """The first elements of a list, or of one that is turned around; None where passes may change it."""
    items = items_of(node)
    if items is not None:
        return items
    turned = False
    match node:
        case ast.Call(func=ast.Name(id="reversed"), args=[inner]):
            node, turned = inner, True
        case ast.Subscript(value=inner, slice=ast.Slice(None, None, step)) if (
            step is not None and literal(step) == -1
        ):
            node, turned = inner, True
    title = node.id if isinstance(node, ast.Name) else self_attribute(node)
    parts = [p for s in body for p in walk(s)]
    grown = [p.value for p in parts if isinstance(p, ast.Attribute)]
    stored = {n for s in body for n in stored_names(s)}
    if title is None or title in stored or any(same(g, node) for g in grown):
        return None
    places = (-1 - i if turned else i for i in range(count))
    return [ast.Subscript(cloned(node), written(i), ast.Load()) for i in places]


def _decided(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with conditions on literals decided."""
    found: list[ast.stmt] = []
    for node in body:
        decided = truth(node.test) if isinstance(node, ast.If) else None
        if isinstance(node, ast.If) and decided is not None:
            found += _decided(node.body if decided else node.orelse)
        else:
            found.append(node)
    return found


def _told(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, where it is told whether names are None as they were bound before."""
    absent: dict[str, bool] = {}
    found: list[ast.stmt] = []
    queue = [*body]
    while queue:
        node = queue.pop(0)
        match node:
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id=title),
                    ops=[ast.Is() | ast.IsNot() as op],
                    comparators=[none],
                )
            ) if title in absent and is_none(none):
                holds = absent[title] == isinstance(op, ast.Is)
                queue[:0] = node.body if holds else node.orelse
                continue
            case ast.Assign(targets=[ast.Name(id=title)], value=value):
                absent[title] = is_none(value)
            case _:
                for title in stored_names(node):
                    absent.pop(title, None)
        found.append(node)
    return found
