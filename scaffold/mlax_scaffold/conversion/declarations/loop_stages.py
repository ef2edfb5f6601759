"""Loops in loops that append layers: what an inner loop appends is a class of its own.

for width in widths:                           for width in widths:
    for _ in range(depth):           becomes       layers.append(Stage(channels, width, depth))
        layers.append(...)                         for _ in range(depth):
        channels = width                               channels = width
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.conversion.lists.stages import Parameters
from mlax_scaffold.conversion.source.loop_parts import applied
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute, targets
from mlax_scaffold.conversion.source.vocabulary import SEQUENTIAL
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def with_loop_stages(
    origin: Origin, node: ast.ClassDef
) -> tuple[ast.ClassDef, Mapping[str, ast.ClassDef]]:
    """The class, in which each such inner loop is a class, and those classes.

    The list has to be called as a whole: it is a sequence, or a loop applies its elements in turn.
    """
    made = cloned(node)
    start = next(
        (m for m in made.body if getattr(m, "name", "") == "__init__"),
        None,
    )
    if not isinstance(start, ast.FunctionDef):
        return node, {}
    found: dict[str, ast.ClassDef] = {}
    for outer in [p for p in walk(start) if isinstance(p, ast.For)]:
        body: list[ast.stmt] = []
        for part in outer.body:
            stage = (
                _Stage.of(origin, made, part, len(found))
                if isinstance(part, ast.For)
                else None
            )
            if stage is None or not _called_whole(origin, made, stage.place):
                body.append(part)
                continue
            found[stage.title] = stage.written()
            body += stage.statements()
        outer.body = body
    return (located(made), found) if found else (node, {})


_Library = tuple[str, str]
"""What a file calls the module of its layers, and the name of what they compute."""


def _library(origin: Origin) -> _Library | None:
    """The library whose layers may be made in sequence; None of others."""
    for name, full in origin.imports.items():
        if full in _CALLS:
            return name, _CALLS[full]
    return None


_CALLS = {"torch.nn": "forward", "flax.nnx": "__call__"}


class _Stage:
    """An inner loop."""

    def __init__(
        self, title: str, loop: ast.For, place: str, origin: Origin, library: _Library
    ):
        self.title, self.loop, self.place, self.library = title, loop, place, library
        self.given: dict[str, ast.expr] = {}
        bound = set(targets(loop.target)) | _of_a_pass(loop.body)
        parameters = Parameters(origin, self.given)
        parameters.known |= bound
        self.inner = parameters.visit(_Renamed(place).visit(cloned(loop)))
        self.given.pop("layers", None)

    @staticmethod
    def of(
        origin: Origin, owner: ast.ClassDef, loop: ast.For, number: int
    ) -> _Stage | None:
        """The stage of a loop that appends to one list; None of others."""
        places = {place for _, place in _appends(loop)}
        if len(places) != 1:
            return None
        [place] = places
        word = place.removeprefix("self.").removesuffix("s")
        words = "".join(w[:1].upper() + w[1:] for w in word.split("_"))
        title = f"{owner.name}{words}Stage{number + 1 if number else ''}"
        if title in origin.classes or title in origin.functions:
            return None
        library = _library(origin)
        return _Stage(title, loop, place, origin, library) if library else None

    def statements(self) -> list[ast.stmt]:
        """What stands in the place of the loop."""
        call = ast.Call(ast.Name(self.title, ast.Load()), list(self.given.values()), [])
        owner = ast.parse(self.place, mode="eval").body
        append = ast.Call(ast.Attribute(owner, "append", ast.Load()), [call], [])
        made: list[ast.stmt] = [ast.Expr(append)]
        rest = _without_appends(cloned(self.loop))
        if rest.body:
            made.append(rest)
        for part in made:
            for inner in walk(part):
                if not hasattr(inner, "lineno"):
                    ast.copy_location(inner, self.loop)
        return made

    def written(self) -> ast.ClassDef:
        """The class of these layers."""
        module, call = self.library
        lines = [
            f"class {self.title}({module}.Module):",
            f'    """Layers of `{self.place}`."""',
            f"    def __init__({', '.join(['self', *self.given])}):",
            "        layers = []",
            f"        self.layers = {module}.Sequential(*layers)",
            f"    def {call}(self, x):",
            "        return self.layers(x)",
        ]
        [node] = ast.parse("\n".join(lines)).body
        assert isinstance(node, ast.ClassDef)
        for part in walk(node):
            if hasattr(part, "lineno"):
                ast.copy_location(part, self.loop)
        start = node.body[1]
        assert isinstance(start, ast.FunctionDef)
        start.body.insert(1, self.inner)
        return located(node)


def _of_a_pass(body: list[ast.stmt]) -> set[str]:
    """The names that a pass binds before it reads them."""
    found: set[str] = set()
    read: set[str] = set()
    for part in body:
        read |= {
            n.id
            for n in walk(part)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        if isinstance(part, ast.Assign):
            found |= set(targets(part)) - read
    return found


def _appends(node: ast.AST) -> Iterator[tuple[ast.Expr, str]]:
    """The statements that append to a list, and the list."""
    for part in walk(node):
        match part:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=place, attr="append" | "extend")
                )
            ):
                yield part, ast.unparse(place)
            case ast.AugAssign(target=place, op=ast.Add(), value=ast.List()):
                yield part, ast.unparse(place)  # type: ignore[misc]


def _without_appends(node: ast.For) -> ast.For:
    lost = {id(part) for part, _ in _appends(node)}

    class Without(NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST | None:  # type: ignore[override]
            if id(node) in lost:
                return None
            super().generic_visit(node)
            body = getattr(node, "body", None)
            if isinstance(node, ast.If) and not body and not node.orelse:
                return None
            if isinstance(node, ast.If) and not body:
                node.body = [ast.Pass()]
            return node

    made = Without().visit(node)
    assert isinstance(made, ast.For)
    return made


class _Renamed(NodeTransformer):
    """The list of a stage, which is called `layers` there."""

    def __init__(self, place: str):
        self.place = place

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self.place:
            return ast.copy_location(ast.Name("layers", node.ctx), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if ast.unparse(node) == self.place:
            return ast.copy_location(ast.Name("layers", node.ctx), node)
        self.generic_visit(node)
        return node


def _called_whole(origin: Origin, owner: ast.ClassDef, place: str) -> bool:
    """Whether a list is nothing but a sequence."""
    attributes = {place.removeprefix("self.")} if place.startswith("self.") else set()
    for part in walk(owner):
        if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.Call):
            continue
        if not any(ast.unparse(a).lstrip("*") == place for a in part.value.args):
            continue
        if origin.qualified(part.value.func) in SEQUENTIAL:
            return True
        attributes |= {a for t in part.targets if (a := self_attribute(t))}
    if len(attributes) != 1:
        return False
    reads = [
        part
        for method in owner.body
        if isinstance(method, ast.FunctionDef) and method.name != "__init__"
        for part in walk(method)
        if self_attribute(part) in attributes
    ]
    whole = [
        part for part in walk(owner) if isinstance(part, ast.For) and _is_applied(part)
    ]
    return bool(reads) and all(any(r is w.iter for w in whole) for r in reads)


def _is_applied(node: ast.For) -> bool:
    call = applied(node)
    return call is not None and not call.keywords
