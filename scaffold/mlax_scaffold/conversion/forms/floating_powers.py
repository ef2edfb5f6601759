"""Whole numbers to powers of PyTorch that are told to be floating, which counts are none of here.

2 ** (-5 - torch.arange(heads, dtype=torch.float))    becomes    2.0 ** (-5 - torch.arange(...))

A whole number has no negative powers in NumPy, and zeros for them in jax; large ones are too large for it.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, names, targets
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_FLOATS = ("float", "float16", "float32", "float64", "double", "half", "bfloat16")
_COUNTS = ("torch.arange", "torch.tensor", "torch.as_tensor", "torch.full")
_POWERS = ("torch.pow", "torch.float_power")


def with_floating_powers(origin: Origin) -> None:
    """Write the numbers so, in place."""
    if not origin.uses("torch"):
        return
    for function in walk(origin.tree):
        if isinstance(function, ast.FunctionDef):
            floats = {
                bound
                for part in walk(function)
                if isinstance(part, ast.Assign) and _is_told(origin, part.value)
                for bound in targets(part)
            }
            for part in function.body:
                _Powers(origin, floats).visit(part)


def _is_told(origin: Origin, node: ast.expr) -> bool:
    """Whether an array of counts in an expression is told to be floating."""
    for part in walk(node):
        match part:
            case ast.Call(
                func=ast.Attribute(attr="float" | "double" | "half"), args=[]
            ):
                return True
            case ast.Call(func=ast.Attribute(attr="to" | "type"), args=[dtype, *_]):
                if _is_floating(dtype):
                    return True
            case ast.Call(func=func, keywords=keywords) if (
                origin.qualified(func) in _COUNTS
            ):
                if any(k.arg == "dtype" and _is_floating(k.value) for k in keywords):
                    return True
    return False


def _is_floating(node: ast.expr) -> bool:
    last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return last in _FLOATS


class _Powers(NodeTransformer):
    def __init__(self, origin: Origin, floats: set[str]):
        self.origin, self.floats = origin, floats

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        # It is a function of its own.
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            node.left = self._floating(node.left, node.right)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self.origin.qualified(node.func) in _POWERS and len(node.args) == 2:
            node.args[0] = self._floating(*node.args)
        return node

    def _floating(self, base: ast.expr, power: ast.expr) -> ast.expr:
        number = literal(base)
        if type(number) is not int:
            return base
        if not (names(power) & self.floats or _is_told(self.origin, power)):
            return base
        return ast.copy_location(ast.Constant(float(number)), base)
