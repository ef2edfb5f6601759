"""Attributes that are read and set by their names, `self.__getattr__("conv1")`, as attributes."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import is_name, literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_BUILTIN = {
    "__getattr__": "getattr",
    "__getattribute__": "getattr",
    "__setattr__": "setattr",
}

_TABLES = ("_modules", "_parameters", "_buffers")
"""Where PyTorch's classes keep what they have, by name."""


def without_direct_names(tree: ast.Module) -> None:
    """Write them so, in place; those of names that are computed by `getattr` and `setattr`."""
    _Names().visit(tree)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            _without_hasattr(node)


def _without_hasattr(node: ast.ClassDef) -> None:
    """Tell whether an object has an attribute: always, or under a condition, where it is None otherwise."""
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    start = methods.get("__init__")
    calls = [p for p in walk(node) if isinstance(p, ast.Call)]
    if start is None or any(map(_adds, calls)):
        return
    always = {_set(t) for s in start.body for t in getattr(s, "targets", [])}
    inside = {_set(p) for p in walk(start)}
    if not node.bases or any(is_name(b, "object") for b in node.bases):
        return
    for method in methods.values():
        if method is not start:
            _Has(always | {*methods}, inside).visit(method)


def _set(node: ast.AST) -> str:
    """The name of an attribute of self that a part sets."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr if is_name(node.value, "self") else ""
    return ""


def _adds(call: ast.Call) -> bool:
    """Whether a call gives an object attributes under names that it is told."""
    title = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return title in _ADDS


_ADDS = ("register_buffer", "register_parameter", "add_module", "setattr", "update")


class _Has(NodeTransformer):
    def __init__(self, always: set[str], inside: set[str]):
        self.always, self.inside = always, inside

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="hasattr"), args=[owner, title]):
                said = literal(title)
                if not is_name(owner, "self") or not isinstance(said, str):
                    return node
                if said in self.always:
                    return ast.copy_location(ast.Constant(True), node)
                if said in self.inside:
                    own = ast.Attribute(ast.Name("self", ast.Load()), said, ast.Load())
                    made = ast.Compare(own, [ast.IsNot()], [ast.Constant(None)])
                    return located(ast.copy_location(made, node))
        return node


def attribute_named(node: ast.expr) -> ast.Attribute | None:
    """The attribute of `self` that `getattr(self, "conv1")` reads; None of anything else."""
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, title], keywords=[]):
            said = literal(title)
            if is_name(owner, "self") and isinstance(said, str) and said.isidentifier():
                return ast.Attribute(ast.Name("self", ast.Load()), said, ast.Load())
    return None


class _Names(NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=owner, attr=attr) if is_name(owner, "self"):
                if attr in _BUILTIN and not node.keywords:
                    node.func = ast.copy_location(
                        ast.Name(_BUILTIN[attr], ast.Load()), node.func
                    )
                    node.args = [owner, *node.args]
        made = attribute_named(node)
        return ast.copy_location(made, node) if made is not None else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node.value:
            case ast.Attribute(value=owner, attr=attr) if attr in _TABLES:
                if is_name(owner, "self") and isinstance(node.ctx, ast.Load):
                    read = ast.Name("getattr", ast.Load())
                    made = ast.Call(read, [owner, node.slice], [])
                    named = attribute_named(made) or made
                    return located(ast.copy_location(named, node))
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        self.generic_visit(node)
        match node.value:
            case ast.Call(
                func=ast.Name(id="setattr"), args=[owner, title, value], keywords=[]
            ) if is_name(owner, "self"):
                said = literal(title)
                if isinstance(said, str) and said.isidentifier():
                    owner = ast.Name("self", ast.Load())
                    target = ast.Attribute(owner, said, ast.Store())
                    made = ast.copy_location(ast.Assign([target], value), node)
                    return located(made)
        return node
