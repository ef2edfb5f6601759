"""Layers that are added by name, `self.add_module("norm", nn.LayerNorm(4))`, as attributes and elements."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.vocabulary import SEQUENTIAL
from mlax_scaffold.conversion.source.walking import located, walk

_ADD = ("add_module", "register_module")


def without_added_modules(origin: Origin, node: ast.ClassDef) -> None:
    """Change a class of PyTorch in place."""
    sequence = bool(origin.bases(node) & SEQUENTIAL)
    for start in node.body:
        if isinstance(start, ast.FunctionDef) and start.name == "__init__":
            if sequence:
                start.body = _elements(start.body)
            start.body = _attributes(start.body)
            located(start)


def _added(node: ast.stmt) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """To what a layer is added, under which name, and the layer."""
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=owner, attr=attr), args=[title, layer]
            )
        ) if attr in _ADD:
            return owner, title, layer
    return None


def _elements(body: list[ast.stmt]) -> list[ast.stmt]:
    """What a sequence adds to itself, as what it is made of."""
    found = [(part, a) for part in body if (a := _added(part))]
    own = [(part, a) for part, a in found if _is_self(a[0])]
    starts = [
        part
        for part in body
        if isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Call)
        and ast.unparse(part.value.func).startswith("super(")
        and not part.value.args
    ]
    if not own or len(starts) != 1 or any(map(_sets_layer, body)):
        return body
    [start] = starts
    assert isinstance(start.value, ast.Call)
    start.value.args = [layer for _, (_, _, layer) in own]
    moved = [part for part in body if part is not start]
    moved.insert(moved.index(own[-1][0]), start)
    return [part for part in moved if not any(part is p for p, _ in own)]


def _sets_layer(node: ast.stmt) -> bool:
    """Whether a statement sets an attribute that is an element, too, in its place among the others."""
    for part in walk(node):
        match part:
            case ast.Assign(targets=[target], value=ast.Call(func=func)):
                last = ast.unparse(func).rpartition(".")[2]
                if self_attribute(target) and last[:1].isupper():
                    return True
    return False


def _attributes(body: list[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for part in body:
        for title in ("body", "orelse"):
            inner = getattr(part, title, None)
            if isinstance(inner, list):
                setattr(part, title, _attributes(inner))
        if isinstance(part, ast.For) and not part.body:
            # It gave names to layers that have others already.
            continue
        found = _added(part)
        if found is None:
            made.append(part)
            continue
        owner, title, layer = found
        name = literal(title)
        if self_attribute(owner) or (
            isinstance(owner, ast.Name) and not _is_self(owner)
        ):
            append = ast.Attribute(owner, "append", ast.Load())
            node: ast.stmt = ast.Expr(ast.Call(append, [layer], []))
        elif not _is_self(owner):
            made.append(part)
            continue
        elif isinstance(name, str) and name.isidentifier():
            place = ast.Attribute(owner, name, ast.Store())
            node = ast.Assign([place], layer)
        elif isinstance(layer, ast.Name):
            continue
        else:
            made.append(part)
            continue
        made.append(ast.copy_location(node, part))
    return made


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
