"""The methods of an optimizer: `prepare` becomes scalars, `update` a function of one leaf."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    OuterTransformer,
    Renamer,
    code,
    element,
    expression,
    self_attribute,
)
from mlax_scaffold.rewrite.returns import Returns

_TREES = {"grads": "gradients", "params": "trainables"}


def scheduled(context: Context) -> frozenset[str]:
    """Hyperparameters that may be schedules."""
    return frozenset(
        h.name
        for h in context.definition.hyperparameters
        if h.type.word.name == "Scheduled"
    )


def scalars(context: Context) -> frozenset[str]:
    """The attributes that are one number for all leaves, and a local of `step`."""
    return scheduled(context) | {"step", *coefficients(context)}


def coefficients(context: Context) -> tuple[str, ...]:
    """The scalars that `prepare` sets, in order."""
    prepare = context.definition.method("prepare")
    return prepare.assigns if prepare else ()


def prepare(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """Statements of `step` that compute the scalars of this step."""
    return cst.ensure_type(function.visit(_Prepare(context)), cst.FunctionDef)


class _Trees(Renamer):
    """Renames the trees that the methods of an optimizer take, and reads attributes of self."""

    def __init__(self, plain: frozenset[str] = frozenset()):
        super().__init__(_TREES)
        self.plain = plain

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(original_node)
        if name is None:
            return updated_node
        return expression(name if name in self.plain else f"hyperparams.{name}")


class _Prepare(_Trees):
    def __init__(self, context: Context):
        super().__init__(scalars(context))

    def leave_Assign(
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.Assign:
        target = original_node.targets[0].target
        if self_attribute(target) is None:
            return updated_node
        value = expression(f"trees.scalar({code(updated_node.value)})")
        return updated_node.with_changes(value=value)


def update(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """The body of the function of one leaf: it returns the update and the new moments."""
    return cst.ensure_type(function.visit(_Update(context)), cst.FunctionDef)


class _Update(OuterTransformer):
    def __init__(self, context: Context):
        super().__init__()
        self.moments = [d.name for d in context.definition.declared(Role.MOMENT)]
        self.scalars = scalars(context)

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(original_node)
        if name is None:
            return updated_node
        if name in self.moments:
            return expression(name)
        if name in self.scalars:
            return expression(f"{name}.astype(grad.dtype)")
        return expression(f"hyperparams.{name}")

    def leave_Return(
        self, original_node: cst.Return, updated_node: cst.Return
    ) -> cst.Return:
        if self.nested:
            return updated_node
        assert updated_node.value is not None
        text = element(updated_node.value)
        result = ", ".join([text, *self.moments])
        if not self.moments:
            result = f"({text},)"
        return updated_node.with_changes(value=expression(result))


def step(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """The body of `step` of an optimizer of optimizers."""
    function = cst.ensure_type(function.visit(_Trees()), cst.FunctionDef)
    return cst.ensure_type(function.visit(Returns("state")), cst.FunctionDef)
