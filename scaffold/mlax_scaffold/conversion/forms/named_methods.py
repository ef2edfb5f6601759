"""Methods that a class of PyTorch calls by its own name, `Net.step(self, x)`, as those of `self`.

What a call keeps in an attribute and reads at once, `self.y = f(x); return self.y`, is a local.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    names,
    replaced,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_named_methods(origin: Origin) -> None:
    """Write them so, in place."""
    for node in origin.classes.values():
        methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        framework = framework_of(origin, node)
        if framework != "torch":
            if framework and any(m.name == "__call__" for m in methods):
                _Whole().visit(node)
                located(node)
            continue
        for method in methods:
            if method.args.args and method.args.args[0].arg == "self":
                _Named(node.name, {m.name: m for m in methods}).visit(method)
        _written_out(node, methods)
        _kept(origin, methods)
        located(node)


class _Whole(NodeTransformer):
    """The layer itself, called by another of its methods: `self(x)`, `self.__call__(x)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if is_name(node.func, "self") or self_attribute(node.func) == "__call__":
            node.func = ast.copy_location(expression("self.forward"), node.func)
        return node


class _Named(NodeTransformer):
    def __init__(self, title: str, methods: dict[str, ast.FunctionDef]):
        self.title, self.methods = title, methods

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id="self") if "forward" in self.methods:
                # The layer itself, called by another of its methods.
                called = ast.Attribute(node.func, "forward", ast.Load())
                node.func = ast.copy_location(called, node.func)
            case ast.Attribute(value=owner, attr=attr) as func if is_name(
                owner, self.title
            ):
                method = self.methods.get(attr)
                if method is None:
                    return node
                static = [ast.unparse(d) for d in method.decorator_list]
                if static == ["staticmethod"]:
                    func.value = ast.Name("self", ast.Load())
                elif not static and node.args and is_name(node.args[0], "self"):
                    func.value = node.args.pop(0)
        return node


def _written_out(node: ast.ClassDef, methods: list[ast.FunctionDef]) -> None:
    """Write static methods of one expression out where the constructor calls them."""
    found: dict[str, tuple[list[str], ast.expr]] = {}
    for method in methods:
        static = [ast.unparse(d) for d in method.decorator_list] == ["staticmethod"]
        match without_docstring(method.body):
            case [ast.Return(value=ast.expr() as value)] if static:
                found[method.name] = [a.arg for a in method.args.args], value
    for method in methods:
        if method.name == "__init__" and found:
            _Written(found).visit(method)
    read = {p.attr for p in walk(node) if isinstance(p, ast.Attribute)}
    kept = [m for m in node.body if getattr(m, "name", "") not in {*found} - read]
    node.body = kept or [ast.Pass()]


class _Written(NodeTransformer):
    def __init__(self, found: dict[str, tuple[list[str], ast.expr]]):
        self.found = found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        given, value = self.found.get(self_attribute(node.func) or "", ([], None))
        if value is None or node.keywords or len(given) != len(node.args):
            return node
        return replaced(value, dict(zip(given, node.args, strict=True)))


def _kept(origin: Origin, methods: list[ast.FunctionDef]) -> None:
    """Write attributes as locals that one method alone reads, after it has set them."""
    # What is registered by its name is a buffer.
    said = {
        part.value
        for method in methods
        for part in walk(method)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    for method in methods:
        if method.name == "__init__":
            continue
        for place in sorted(_set(method) - said):
            reads = [
                part
                for part in walk(origin.tree)
                if isinstance(part, ast.Attribute) and part.attr == place
            ]
            own = [
                part
                for part in walk(method)
                if isinstance(part, ast.Attribute) and self_attribute(part) == place
            ]
            if len(own) != len(reads) or place in names(method):
                continue
            _Local(place).visit(method)


def _set(method: ast.FunctionDef) -> set[str]:
    """The attributes that statements of a body set before anything reads them."""
    found: set[str] = set()
    seen: set[str] = set()
    for part in method.body:
        read = {
            place
            for inner in walk(part)
            if isinstance(inner, ast.Attribute)
            and isinstance(inner.ctx, ast.Load)
            and (place := self_attribute(inner))
        }
        if isinstance(part, ast.Assign) and len(part.targets) == 1:
            place = self_attribute(part.targets[0])
            if place is not None and place not in seen | read:
                found.add(place)
        seen |= read | {
            place
            for inner in walk(part)
            if isinstance(inner, ast.Attribute) and (place := self_attribute(inner))
        }
    return found


class _Local(NodeTransformer):
    def __init__(self, place: str):
        self.place = place

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self_attribute(node) == self.place:
            return ast.copy_location(ast.Name(self.place, node.ctx), node)
        self.generic_visit(node)
        return node
