"""Weights of PyTorch that a call sets anew, `self.w = nn.Parameter(...)`, as buffers that none trains.

So is the table of an embedding that is set: averages of codebooks are kept that way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.changes.changed_buffers import rooted
from mlax_scaffold.conversion.rows.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, self_attribute, statement
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def with_kept_weights(origin: Origin, notes: Notes) -> None:
    """Change the classes of a file in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        if not isinstance(start, ast.FunctionDef):
            continue
        for place, table, line in sorted(_set(origin, node, start)):
            title = f"{place}_weight" if table else place
            if _declared(origin, start, place, table, title):
                _Renamed(origin, place, table, title).visit(node)
                notes.remark(
                    line,
                    f"`self.{place}{'.weight' * table}` is set in each call",
                    f"here `{title}` is a state, which no optimizer trains",
                )
        located(node)


def _set(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef
) -> set[tuple[str, bool, int]]:
    """The weights that methods set, with whether each is the table of an embedding, and the line."""
    found: dict[tuple[str, bool], int] = {}
    for method in node.body:
        if method is start or "init" in getattr(method, "name", ""):
            continue
        for part in walk(method):
            match part:
                case ast.Assign(
                    targets=[ast.Attribute() as target],
                    value=ast.Call(func=func, args=[_, *_]),
                ) if origin.qualified(func).endswith(".Parameter"):
                    place = self_attribute(target)
                    inner = self_attribute(target.value)
                    if place is not None:
                        found.setdefault((place, False), part.lineno)
                    elif inner is not None and target.attr == "weight":
                        found.setdefault((inner, True), part.lineno)
    return {(*key, line) for key, line in found.items()}


def _declared(
    origin: Origin, start: ast.FunctionDef, place: str, table: bool, title: str
) -> bool:
    """Whether the constructor declares the weight as a buffer by now."""
    for at, part in enumerate(start.body):
        match part:
            case ast.Assign(targets=[target], value=ast.Call(func=func, args=args)) if (
                self_attribute(target) == place
            ):
                full = origin.qualified(func)
            case _:
                continue
        value: ast.expr
        if table and full == "torch.nn.Embedding" and len(args) == 2:
            sizes = ", ".join(map(ast.unparse, args))
            torch = origin.name_of("torch")
            if not torch:
                return False
            value = expression(f"{torch}.randn({sizes})")
        elif not table and full.endswith(".Parameter"):
            value = args[0]
        else:
            return False
        filled = [*_filled(start.body[at + 1 :], place, table)]
        if len(filled) > 1:
            return False
        for late, call in filled:
            made = cloned(call)
            assert isinstance(made.func, ast.Attribute)
            made.func.value = _empty(origin, value)
            value = made
            start.body.remove(late)
        declared = statement(f"self.register_buffer({title!r}, x)")
        assert isinstance(declared, ast.Expr)
        assert isinstance(declared.value, ast.Call)
        declared.value.args[1] = value
        start.body[at] = ast.copy_location(declared, part)
        return True
    return False


def _empty(origin: Origin, value: ast.expr) -> ast.expr:
    """A new array of the same sizes, to be filled."""
    made = cloned(value)
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        made.func.attr = "empty"
    return made


def _filled(
    body: list[ast.stmt], place: str, table: bool
) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """The statements of a constructor that fill the weight."""
    for part in body:
        match part:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=inner, attr=attr)) as call
            ) if attr in IN_PLACE:
                root = rooted(inner)
                if table and isinstance(root, ast.Attribute) and root.attr == "weight":
                    root = root.value
                if self_attribute(root) == place:
                    yield part, call


class _Renamed(NodeTransformer):
    """Reads and sets the buffer in the place of the weight."""

    def __init__(self, origin: Origin, place: str, table: bool, title: str):
        self.origin, self.place, self.table, self.title = origin, place, table, title

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        match node.value:
            case ast.Call(func=func, args=[made, *_]):
                own = self_attribute(node.targets[0]) == self.title
                if own and self.origin.qualified(func).endswith(".Parameter"):
                    node.value = expression("x.detach()", x=made)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        own = node.attr == "weight" and self_attribute(node.value) == self.place
        if self.table and own:
            owner = ast.Name("self", ast.Load())
            return ast.copy_location(ast.Attribute(owner, self.title, node.ctx), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        torch = self.origin.name_of("torch")
        if self.table and self_attribute(node.func) == self.place and torch:
            text = f"{torch}.nn.functional.embedding(x, self.{self.title})"
            return ast.copy_location(expression(text, x=node.args[0]), node)
        return node
