"""What PyTorch's classes have beside methods: properties of weights, which are called, and shared layers."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_REGISTERED = ("register_buffer", "register_parameter", "add_module")


def with_called_properties(origin: Origin) -> None:
    """Make methods of them, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        _of_objects(origin, node)
        held = {*_held(origin, node)}
        titles: set[str] = set()
        for method in node.body:
            if not isinstance(method, ast.FunctionDef):
                continue
            decorators = [ast.unparse(d) for d in method.decorator_list]
            read = {self_attribute(p) for p in walk(method)}
            if decorators == ["property"] and read & held:
                method.decorator_list = []
                titles.add(method.name)
        _Calls(titles).visit(node)
    located(origin.tree)


def _of_objects(origin: Origin, node: ast.ClassDef) -> None:
    """Have each object make the layers that all of a class share: these have no weights."""
    start = method_of(node, "__init__")
    shared = [
        part
        for part in node.body
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and isinstance(part.value, ast.Call)
        and origin.qualified(part.value.func).startswith("torch.nn.")
    ]
    if start is None:
        return
    for part in shared:
        title = ast.unparse(part.targets[0])
        node.body.remove(part)
        _Made(title, part.value).visit(start)


class _Made(NodeTransformer):
    def __init__(self, title: str, value: ast.expr):
        self.title, self.value = title, value

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self_attribute(node) == self.title and isinstance(node.ctx, ast.Load):
            return ast.copy_location(cloned(self.value), node)
        return node


def _held(origin: Origin, node: ast.ClassDef) -> list[str]:
    """The attributes that are weights or layers."""
    found: list[str] = []
    for part in walk(node):
        match part:
            case ast.Assign(targets=[target], value=ast.Call(func=func)):
                title = self_attribute(target)
                if title and origin.qualified(func).startswith("torch.nn."):
                    found.append(title)
            case ast.Call(func=ast.Attribute(attr=attr), args=[given, *_]):
                title = literal(given)
                if attr in _REGISTERED and isinstance(title, str):
                    found.append(title)
    return found


class _Calls(NodeTransformer):
    def __init__(self, titles: set[str]):
        self.titles = titles

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self_attribute(node) in self.titles and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Call(node, [], []), node)
        self.generic_visit(node)
        return node
