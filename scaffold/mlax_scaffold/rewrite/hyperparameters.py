"""Whatever is still an attribute of self is a hyperparameter: `self.name` becomes `hyperparams.name`."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import self_attribute
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    return cst.ensure_type(function.visit(_Hyperparameters()), cst.FunctionDef)


class _Hyperparameters(Transformer):
    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        if self_attribute(original_node) is None:
            return updated_node
        return updated_node.with_changes(value=cst.Name("hyperparams"))
