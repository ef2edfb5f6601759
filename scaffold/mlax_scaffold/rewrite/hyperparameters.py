"""Whatever is still an attribute of self is a hyperparameter: `self.name` becomes `hyperparams.name`."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import expression, self_attribute
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    visitor = _Hyperparameters(context)
    return cst.ensure_type(function.visit(visitor), cst.FunctionDef)


class _Hyperparameters(Transformer):
    def __init__(self, context: Context):
        super().__init__()
        made = {i.name: r for i in context.definition.imports if (r := i.reference)}
        self.layers = {n: r.name for n, r in made.items() if r in context.kinds}
        self.others = made.keys() - self.layers.keys()
        """What nothing is of."""

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        if self_attribute(original_node) is None:
            return updated_node
        return updated_node.with_changes(value=cst.Name("hyperparams"))

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        """`isinstance(layer, Block)` asks for the hyperparameters of a layer, which tell its kind."""
        if not isinstance(updated_node.func, cst.Name) or (
            updated_node.func.value != "isinstance" or len(updated_node.args) != 2
        ):
            return updated_node
        first, kinds = updated_node.args
        told = kinds.with_changes(value=self._kinds(kinds.value))
        return updated_node.with_changes(args=[first, told])

    def _kinds(self, node: cst.BaseExpression) -> cst.BaseExpression:
        match node:
            case cst.Name(value=name) if name in self.layers:
                layer = self.layers[name]
                return expression(f"{layer}.{layer}Hyperparams")
            case cst.Name(value=name) if name in self.others:
                return expression("()")
            case cst.Tuple(elements=elements):
                parts = [e.with_changes(value=self._kinds(e.value)) for e in elements]
                return node.with_changes(elements=parts)
        return node
