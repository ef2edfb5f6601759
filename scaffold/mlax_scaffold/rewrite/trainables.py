"""A read of a weight becomes a read of `trainables`, cast to the compute dtype.

The cast is bound to a name at the top where the weight is read more than once, or in a nested function: there
the gradient would else be accumulated in the dtype of the weight.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    expression,
    local_names,
    self_attribute,
    with_prelude,
)
from mlax_scaffold.rewrite.presence import compared_with_none


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    weights = context.declared(Role.TRAINABLE)
    if not weights & context.method.reads:
        return function
    uses = _Uses(weights)
    function.visit(uses)
    taken = local_names(function) | context.globals
    bound = {
        name
        for name in weights
        if (uses.counts.get(name, 0) > 1 or name in uses.nested) and name not in taken
    }
    transformer = _Trainables(context, weights, bound)
    function = cst.ensure_type(function.visit(transformer), cst.FunctionDef)
    ordered = [d.name for d in context.definition.declared(Role.TRAINABLE)]
    return with_prelude(
        function,
        [f"{name} = {transformer.cast(name)}" for name in ordered if name in bound],
    )


class _Uses(cst.CSTVisitor):
    """How often each weight is read other than to compare it with None, and which in nested functions."""

    def __init__(self, weights: frozenset[str]):
        super().__init__()
        self.weights = weights
        self.counts: dict[str, int] = {}
        self.nested: set[str] = set()
        self.depth = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.depth += 1

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        self.depth -= 1

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self.depth += 1

    def leave_Lambda(self, original_node: cst.Lambda) -> None:
        self.depth -= 1

    def visit_Comparison(self, node: cst.Comparison) -> bool:
        return compared_with_none(node) not in self.weights

    def visit_Attribute(self, node: cst.Attribute) -> None:
        name = self_attribute(node)
        if name in self.weights:
            self.counts[name or ""] = self.counts.get(name or "", 0) + 1
            if self.depth > 1:
                self.nested.add(name or "")


class _Trainables(cst.CSTTransformer):
    def __init__(self, context: Context, weights: frozenset[str], bound: set[str]):
        super().__init__()
        self.context = context
        self.weights = weights
        self.bound = bound

    def cast(self, name: str) -> str:
        """The weight in the compute dtype."""
        dtype = self.context.compute_dtype
        if dtype is None:
            return f"trainables.{name}"
        return f"arrays.in_dtype(trainables.{name}, {dtype})"

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(original_node)
        if name not in self.weights or name is None:
            return updated_node
        return expression(name if name in self.bound else self.cast(name))

    def leave_Comparison(
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        name = compared_with_none(original_node)
        if name not in self.weights:
            return updated_node
        if name in self.bound:
            return updated_node
        return updated_node.with_changes(left=expression(f"trainables.{name}"))
