"""Weights and states of containers: `self.parts["scale"]`, `self.layers[i].kernel`."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.model.places import STRUCTURAL
from mlax_scaffold.rewrite.chains import (
    Chain,
    attribute_at,
    chain_of,
    kinds_at,
    traits_at,
)
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import augmented, code, expression
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not context.containers and not context.several:
        return function
    return cst.ensure_type(function.visit(_Places(context)), cst.FunctionDef)


class _Places(Transformer):
    def __init__(self, context: Context):
        super().__init__()
        self.context = context
        self.structural: set[cst.CSTNode] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> bool:
        # States that are assigned to are replaced by the pass of states.
        return chain_of(node.target) is None

    def leave_AugAssign(
        self, original_node: cst.AugAssign, updated_node: cst.AugAssign
    ) -> cst.AugAssign | cst.Assign:
        chain = chain_of(original_node.target)
        if chain is None or chain.name not in self.context.containers:
            return updated_node
        value = augmented(code(updated_node.target), updated_node)
        target = cst.AssignTarget(original_node.target)
        return cst.Assign([target], expression(value))

    def _read(self, tree: str, chain: Chain, rest: str = "") -> cst.BaseExpression:
        dtype = self.context.compute_dtype
        array = f"{tree}.{chain.name}{chain.text}{rest}"
        return expression(array if dtype is None else f"arrays.cast({array}, {dtype})")

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        """A container that a function is given: functions in the place of its layers."""
        if original_node.value in self.structural:
            return updated_node
        value = self._functions(updated_node.value)
        return updated_node if value is None else updated_node.with_changes(value=value)

    def visit_Call(self, node: cst.Call) -> None:
        if code(node.func) in STRUCTURAL:
            self.structural.update(argument.value for argument in node.args)

    def leave_Assign(
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.Assign:
        value = self._functions(updated_node.value)
        return updated_node if value is None else updated_node.with_changes(value=value)

    def leave_IfExp(
        self, original_node: cst.IfExp, updated_node: cst.IfExp
    ) -> cst.IfExp:
        body, orelse = map(self._functions, (updated_node.body, updated_node.orelse))
        return updated_node.with_changes(
            body=body or updated_node.body, orelse=orelse or updated_node.orelse
        )

    def _functions(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        chain = chain_of(node)
        several = {*self.context.containers, *self.context.several}
        if chain is None or chain.name not in several:
            return None
        traits = self.context.traits[chain.name]
        trees = [
            f"hyperparams.{chain.name}{chain.text}",
            f"trainables.{chain.name}{chain.text}" if traits.trainable else "None",
            f"non_trainables.{chain.name}{chain.text}" if traits.stateful else "None",
        ]
        mode = "inference_mode" if traits.training else "False"
        return expression(f"containers.functions({', '.join(trees)}, {mode})")

    def leave_Subscript(
        self, original_node: cst.Subscript, updated_node: cst.Subscript
    ) -> cst.BaseExpression:
        chain = chain_of(updated_node)
        if chain is None or chain.name not in self.context.containers:
            return updated_node
        kinds = kinds_at(chain, self.context)
        if Role.TRAINABLE in kinds:
            return self._read("trainables", chain)
        if Role.STATE in kinds:
            return self._read("non_trainables", chain)
        return updated_node

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        chain, name = attribute_at(original_node) or (None, "")
        several = {*self.context.containers, *self.context.several}
        if chain is None or chain.name not in several:
            return updated_node
        if not chain.indices and chain.name in self.context.several:
            return updated_node
        if chain.name in self.context.containers and not kinds_at(chain, self.context):
            return updated_node
        _, traits = traits_at(chain, self.context)
        if name in traits.weights:
            return self._read("trainables", chain, f".{name}")
        if name in traits.states:
            return self._read("non_trainables", chain, f".{name}")
        return updated_node
