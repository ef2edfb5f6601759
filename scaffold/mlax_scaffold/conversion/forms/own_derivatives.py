"""Functions of jax with a derivative of their own, which stand beside a spec together with their rules."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, name
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_MAKERS = ("jax.custom_jvp", "jax.custom_vjp", "jax.custom_gradient")
_RULES = ("defjvp", "defvjp", "defjvps")


def has_derivative(origin: Origin, node: ast.AST) -> bool:
    """Whether a function has a derivative of its own."""
    return isinstance(node, ast.FunctionDef) and any(
        _made_by(origin, d) for d in node.decorator_list
    )


def is_rule(origin: Origin, decorator: ast.expr) -> bool:
    """Whether a decorator says that a function has a derivative of its own, or is the rule of one."""
    if isinstance(decorator, ast.Attribute) and decorator.attr in _RULES:
        return isinstance(decorator.value, ast.Name)
    return _made_by(origin, decorator)


def derivative_rules(origin: Origin, title: str) -> list[ast.stmt]:
    """The rules of a function: those that are decorated by it, and statements that name them."""
    return [node for node in origin.tree.body if _is_rule_of(node, title)]


def _is_rule_of(node: ast.stmt, title: str) -> bool:
    match node:
        case ast.FunctionDef():
            parts = node.decorator_list
        case ast.Expr(value=ast.Call(func=func)):
            parts = [func]
        case _:
            return False
    return any(
        isinstance(p, ast.Attribute) and p.attr in _RULES and is_name(p.value, title)
        for p in parts
    )


def with_rule_apart(origin: Origin, node: ast.FunctionDef) -> ast.FunctionDef:
    """A function that calls one with a derivative of its own, which then stands beside it."""
    if not has_derivative(origin, node):
        return node
    title, inner = node.name, f"{node.name}_with_rule"
    outer = cloned(node)
    outer.decorator_list = []
    given = (*outer.args.posonlyargs, *outer.args.args, *outer.args.kwonlyargs)
    call = ast.Call(name(inner), [name(a.arg) for a in given], [])
    outer.body = [*outer.body[: _documents(node)], ast.Return(call)]
    node.body = node.body[_documents(node) :]
    node.args.defaults, node.args.kw_defaults = [], []
    node.args.args = [*node.args.args, *node.args.kwonlyargs]
    node.args.kwonlyargs = []
    for part in walk(origin.tree):
        if isinstance(part, ast.Name) and part.id == title:
            part.id = inner
    node.name = inner
    origin.tree.body.append(outer)
    origin.forget("functions", "assigned")
    located(origin.tree)
    return outer


def _documents(node: ast.FunctionDef) -> int:
    return 1 if ast.get_docstring(node) is not None else 0


def _made_by(origin: Origin, decorator: ast.expr) -> bool:
    match decorator:
        case ast.Call(func=func, args=[maker, *_]):
            if origin.qualified(func) == "functools.partial":
                return origin.qualified(maker) in _MAKERS
    return origin.qualified(decorator) in _MAKERS
