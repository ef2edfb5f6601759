"""Arrays of PyTorch that are changed, or taken apart, where they are made: `torch.randn(3).div_(2)`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_OPERATORS = {
    "add_": ast.Add,
    "sub_": ast.Sub,
    "mul_": ast.Mult,
    "div_": ast.Div,
    "pow_": ast.Pow,
}
_SUMS = {"index_add_": "index_add", "scatter_add_": "scatter_add"}
_CHANGED = (
    *("triu", "tril", "clamp", "clamp_min", "clamp_max", "abs", "neg", "exp", "log"),
    *("sqrt", "rsqrt", "reciprocal", "sin", "cos", "tanh", "sigmoid", "relu", "round"),
    *("floor", "ceil", "masked_fill", "unsqueeze", "squeeze", "t", "transpose"),
)
"""Methods that change an array by their name with an underscore, and return the changed one without it."""
_FILLED = ("torch.zeros", "torch.ones", "torch.empty", "torch.Tensor")
_FILLS = {"fill_": None, "zero_": 0.0}


def without_fresh_changes(origin: Origin) -> None:
    """Write what they are made of as expressions, in place."""
    if origin.uses("torch"):
        _Changes(origin).visit(origin.tree)
        located(origin.tree)


_PAIRS = (
    "max",
    "min",
    "topk",
    "sort",
    "median",
    "mode",
    "kthvalue",
    "cummax",
    "cummin",
)
"""What returns values and their places."""
_PLACES = {"values": 0, "indices": 1}


@dataclass(frozen=True)
class _Draw:
    """What fills a new array with random numbers: its arguments, and what it is of standard ones."""

    function: str
    names: tuple[str, str]
    defaults: tuple[float, float]
    text: str

    def items(self) -> zip[tuple[str, float]]:
        return zip(self.names, self.defaults, strict=True)


_DRAWS = {
    "uniform_": _Draw("rand", ("a", "b"), (0.0, 1.0), "d * (b - a) + a"),
    "normal_": _Draw("randn", ("mean", "std"), (0.0, 1.0), "d * b + a"),
}
_NUMBERED = ("torch.zeros", "torch.ones", "torch.empty", "torch.Tensor")


class _Changes(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin
        self.torch = origin.name_of("torch") or "torch_"

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        # A statement changes what is there already.
        if isinstance(node.value, ast.Call):
            node.value.args = [self.visit(a) for a in node.value.args]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        made = node.value
        if node.attr not in _PLACES or not isinstance(made, ast.Call):
            return node
        called = made.func.attr if isinstance(made.func, ast.Attribute) else ""
        if called not in _PAIRS or not (made.args or made.keywords):
            return node
        place = ast.Constant(_PLACES[node.attr])
        return ast.copy_location(ast.Subscript(made, place, ast.Load()), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = node.func
        if not isinstance(func, ast.Attribute) or not self._is_fresh(func.value):
            return node
        made = func.value
        func.attr = _SUMS.get(func.attr, func.attr)
        if func.attr.removesuffix("_") in _CHANGED:
            func.attr = func.attr.removesuffix("_")
            return node
        operator = _OPERATORS.get(func.attr)
        if operator is not None and len(node.args) == 1 and not node.keywords:
            return ast.copy_location(ast.BinOp(made, operator(), node.args[0]), node)
        drawn = self._drawn(func, node)
        if drawn is not None:
            return ast.copy_location(drawn, node)
        plain = not node.args and not node.keywords
        if func.attr == "normal_" and plain and isinstance(made, ast.Call):
            empty = self.origin.qualified(made.func) in ("torch.empty", "torch.Tensor")
            if empty or getattr(made.func, "attr", "") == "new_empty":
                draw = expression(f"{self.torch}.randn")
                return ast.copy_location(ast.Call(draw, made.args, []), node)
        filled = isinstance(made, ast.Call) and self.origin.qualified(made.func)
        if func.attr in _FILLS and filled in _FILLED and not made.keywords:  # type: ignore[union-attr]
            assert isinstance(made, ast.Call)
            assert isinstance(made.func, ast.Name | ast.Attribute)
            sizes = (
                made.args[0]
                if _is_tuple(made.args)
                else ast.Tuple(made.args, ast.Load())
            )
            value = node.args[0] if node.args else ast.Constant(_FILLS[func.attr])
            owner = made.func.value if isinstance(made.func, ast.Attribute) else None
            if owner is not None:
                full = ast.Attribute(owner, "full", ast.Load())
                return ast.copy_location(ast.Call(full, [sizes, value], []), node)
        return node

    def _drawn(self, func: ast.Attribute, node: ast.Call) -> ast.expr | None:
        """Numbers of another range, or spread, in the place of a new array."""
        made, places = func.value, _DRAWS.get(func.attr)
        if places is None or not isinstance(made, ast.Call):
            return None
        if not (node.args or node.keywords):
            return None
        of = self.origin.qualified(made.func)
        if of not in (*_NUMBERED, "torch.empty_like", "torch.zeros_like"):
            return None
        given = dict(zip(places.names, node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        first, second = (given.get(n, ast.Constant(d)) for n, d in places.items())
        title = places.function + ("_like" if of.endswith("_like") else "")
        drawn = ast.Call(expression(f"{self.torch}.{title}"), made.args, made.keywords)
        return expression(places.text, d=drawn, a=first, b=second)

    def _is_fresh(self, node: ast.expr) -> bool:
        """Whether an expression is an array that nothing else holds."""
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "new_empty":
            return True
        if isinstance(node, ast.BinOp):
            return self._is_fresh(node.left) or self._is_fresh(node.right)
        match node:
            case ast.Call(func=ast.Attribute(attr=attr, value=made)) if (
                attr in _CHANGED and self._is_fresh(made)
            ):
                return True
        return isinstance(node, ast.Call) and self.origin.qualified(
            node.func
        ).startswith(
            (
                "torch.zeros",
                "torch.ones",
                "torch.rand",
                "torch.empty",
                "torch.Tensor",
                "torch.full",
            )
        )


def _is_tuple(args: list[ast.expr]) -> bool:
    return len(args) == 1 and isinstance(args[0], ast.Tuple | ast.List)
