"""Locals of a constructor that are shapes, written where weights are made of them.

shape = (dim, 4 * dim)
self.weight = nnx.Param(init(key, shape))
becomes
self.weight = nnx.Param(init(key, (dim, 4 * dim)))
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names, targets, with_names
from mlax_scaffold.conversion.source.walking import walk

_MAKERS = ("__init__", "setup", "__post_init__")


def without_shape_locals(origin: Origin) -> None:
    """Write them so, in place."""
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name in _MAKERS:
                _in(method)


def _in(method: ast.FunctionDef) -> None:
    bound = [t for part in walk(method) for t in _stored(part)]
    found: dict[str, ast.expr] = {}
    kept: list[ast.stmt] = []
    for statement in method.body:
        read = names(statement) & {*found}
        part = with_names(statement, found) if read else statement
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)], value=ast.Tuple(elts=sizes) as value
            ) if bound.count(local) == 1 and sizes and all(map(_is_size, sizes)):
                if all(bound.count(n) < 2 for n in names(value)):
                    found[local] = value
                    continue
        kept.append(part)
    method.body = kept or [ast.Pass()]


def _stored(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    return [*targets(node)] if isinstance(node, ast.AugAssign) else []


def _is_size(node: ast.expr) -> bool:
    """Whether an element is arithmetic of names and numbers."""
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.BinOp(left=left, right=right):
            return _is_size(left) and _is_size(right)
        case ast.Attribute(value=ast.Name(id="self")) | ast.Name():
            return True
    return False
