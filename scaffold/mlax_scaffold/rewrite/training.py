"""`self.training` becomes `not inference_mode`."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import expression, self_attribute
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not context.method.training:
        return function
    return cst.ensure_type(function.visit(_Training()), cst.FunctionDef)


class _Training(Transformer):
    def leave_UnaryOperation(
        self, original_node: cst.UnaryOperation, updated_node: cst.UnaryOperation
    ) -> cst.BaseExpression:
        negated = isinstance(original_node.operator, cst.Not)
        if negated and self_attribute(original_node.expression) == "training":
            return expression("inference_mode")
        return updated_node

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        if self_attribute(original_node) != "training":
            return updated_node
        # The parentheses keep the text whole inside any expression.
        return expression("(not inference_mode)")


def simplified(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """The function without parentheses around a whole `not inference_mode`."""
    if not context.method.training:
        return function
    return cst.ensure_type(function.visit(_Unwrap()), cst.FunctionDef)


class _Unwrap(Transformer):
    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        return updated_node.with_changes(test=_bare(updated_node.test))

    def leave_IfExp(
        self, original_node: cst.IfExp, updated_node: cst.IfExp
    ) -> cst.IfExp:
        return updated_node.with_changes(test=_bare(updated_node.test))

    def leave_BooleanOperation(
        self,
        original_node: cst.BooleanOperation,
        updated_node: cst.BooleanOperation,
    ) -> cst.BooleanOperation:
        return updated_node.with_changes(
            left=_bare(updated_node.left), right=_bare(updated_node.right)
        )


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    match node:
        case cst.UnaryOperation(
            operator=cst.Not(), expression=cst.Name("inference_mode"), lpar=[_]
        ):
            return node.with_changes(lpar=[], rpar=[])
    return node
