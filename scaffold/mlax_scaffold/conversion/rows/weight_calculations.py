"""What rows compute with weights that may be left out: of maps, convolutions, and norms."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    is_none,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import cloned


def _itself(weight: ast.expr) -> ast.expr:
    return weight


class WeightCalculations:
    """Expressions over weights."""

    optional: dict[str, ast.expr]
    """Weights that there are only where a condition on hyperparameters holds."""

    def _linear(self, x: ast.expr, weight: ast.expr, bias: ast.expr) -> ast.expr:
        y = expression("x @ w.T", x=x, w=weight)
        return y if is_none(bias) else expression("y + b", y=y, b=self._if_any(bias))

    def _channelwise(self, y: ast.expr, bias: ast.expr, dims: ast.expr) -> ast.expr:
        if is_none(bias):
            return y
        axes = ", None" * int(str(literal(dims)))

        def along(weight: ast.expr) -> ast.expr:
            return expression(f"b[:{axes}]", b=weight)

        return expression("y + b", y=y, b=self._if_any(bias, along))

    def _affine(self, y: ast.expr, weight: ast.expr, bias: ast.expr) -> ast.expr:
        if not is_none(weight):
            y = expression("y * w", y=y, w=self._if_any(weight, none=1.0))
        return y if is_none(bias) else expression("y + b", y=y, b=self._if_any(bias))

    def _if_any(
        self,
        weight: ast.expr,
        along: Callable[[ast.expr], ast.expr] = _itself,
        none: float = 0.0,
    ) -> ast.expr:
        """What is read of a weight; a number in its place where it is left out."""
        match weight:
            case ast.IfExp(test=test, body=body, orelse=orelse) if is_none(
                body
            ) or is_none(orelse):
                one, other = (
                    constant(none) if is_none(s) else along(s) for s in (body, orelse)
                )
                return ast.IfExp(test, one, other)
        condition = self.optional.get(self_attribute(weight) or "")
        if condition is None:
            return along(weight)
        return ast.IfExp(cloned(condition), along(weight), constant(none))
