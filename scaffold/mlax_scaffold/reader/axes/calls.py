"""The parameters of methods and functions, and what calls give for them."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def parameters(function: ast.FunctionDef) -> Iterator[ast.arg]:
    """What a method or a function is given."""
    for arg in (
        *function.args.posonlyargs,
        *function.args.args,
        *function.args.kwonlyargs,
    ):
        if arg.arg != "self":
            yield arg


def matched(taken: list[ast.arg], call: ast.Call) -> Iterator[tuple[ast.arg, ast.expr]]:
    """What each of them is in a call."""
    yield from zip(taken, call.args, strict=False)
    for keyword in call.keywords:
        for parameter in taken:
            if parameter.arg == keyword.arg:
                yield parameter, keyword.value


def splits_last(node: ast.expr) -> bool:
    """Whether an expression is `jnp.split(x, ..., axis=-1)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="split" | "array_split"), keywords=given):
            axes = [ast.unparse(k.value) for k in given if k.arg == "axis"]
            return axes == ["-1"]
    return False


def base_of(node: ast.expr) -> ast.expr:
    """`y` of `y[:, :-1]`, `y[..., None]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
