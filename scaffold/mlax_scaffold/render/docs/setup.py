"""What `setup` says, in terms of hyperparameters: shapes, counts, and values of examples."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from mlax_scaffold.model.arithmetic import Unknown, evaluate
from mlax_scaffold.model.definition import Definition, Role
from mlax_scaffold.model.expressions import Expression


class Setup:
    """The assignments of a definition's `setup`."""

    def __init__(self, definition: Definition):
        self.definition = definition

    def text(self, expression: Expression | None) -> str:
        """An expression of `setup`, such as a shape, in terms of hyperparameters."""
        assert expression is not None
        return self.definition.expanded(expression).plain

    def count(self) -> str | None:
        """The number of weights as a Python expression; None where it does not follow."""
        terms = []
        if len(self.definition.weights) < len(self.definition.declared(Role.TRAINABLE)):
            return None
        try:
            for d in self.definition.weights:
                assert d.shape is not None
                term = _product(self.definition.expanded(d.shape).bare)
                if d.condition is not None:
                    term = f"({term} if {self.text(d.condition)} else 0)"
                terms.append(term)
        except Unknown:
            return None
        return " + ".join(terms) if terms else "0"

    def value(self, expression: Expression, values: Mapping[str, Any]) -> Any:
        """The value of an expression of hyperparameters.

        Raises:
            Unknown: where it has more in it than arithmetic and comparisons.
        """
        given = {f"self.{name}": value for name, value in values.items()}
        return evaluate(self.definition.expanded(expression).tree, given)

    def derived(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of what `setup` derives from hyperparameters, where they can be told."""
        found: dict[str, Any] = {}
        for d in self.definition.declared(Role.DERIVED):
            if d.value is None:
                continue
            try:
                found[d.name] = self.value(d.value, {**values, **found})
            except Unknown:
                continue
        return found


_FACTORS = (ast.Name, ast.Attribute, ast.Constant, ast.Call)
"""What needs no parentheses in a product."""


def _is_product(node: ast.expr) -> bool:
    """Whether it is a product of such."""
    match node:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return all(isinstance(n, _FACTORS) or _is_product(n) for n in (left, right))
    return False


def _product(shape: ast.expr) -> str:
    """The product of the dims of a shape, as text."""
    if isinstance(shape, ast.IfExp):
        branches = _product(shape.body), _product(shape.orelse)
        if sorted(branches[0].split(" * ")) == sorted(branches[1].split(" * ")):
            return branches[0]
        return f"({branches[0]} if {ast.unparse(shape.test)} else {branches[1]})"
    if not isinstance(shape, ast.Tuple):
        raise Unknown
    factors = []
    for dim in shape.elts:
        text = ast.unparse(dim)
        if isinstance(dim, ast.Starred):
            text = f"math.prod({ast.unparse(dim.value)})"
        elif not isinstance(dim, _FACTORS) and not _is_product(dim):
            text = f"({text})"
        factors.append(text)
    return " * ".join(factors) if factors else "1"
