"""A read of a weight becomes a name that is bound at the top to the weight, cast to the compute dtype.

Else the gradient of what is read more than once, or in a nested function, would be accumulated in the dtype
of the weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    expression,
    fresh,
    local_names,
    self_attribute,
    with_prelude,
)
from mlax_scaffold.rewrite.presence import compared_with_none
from mlax_scaffold.rewrite.traversal import Transformer, Visitor


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    weights = context.declared(Role.TRAINABLE)
    handed = {
        w
        for n in context.method.reads & set(context.needs)
        for w in context.needs[n].weights
    }
    if not weights & (context.method.reads | handed):
        return function
    if context.is_own:
        given = {name: context.given_as(name) for name in weights}
        return cst.ensure_type(function.visit(_Given(given)), cst.FunctionDef)
    uses = _Uses(weights)
    function.visit(uses)
    ordered = [d.name for d in context.definition.declared(Role.TRAINABLE)]
    read = [name for name in ordered if name in uses.read]
    names = _names(function, context, read)
    function = cst.ensure_type(
        function.visit(_Trainables(names, weights)), cst.FunctionDef
    )
    return with_prelude(
        function, [f"{names[name]} = {_cast(name, context)}" for name in read]
    )


def _names(
    function: cst.FunctionDef, context: Context, read: Iterable[str]
) -> dict[str, str]:
    """The name of each weight: its own, where nothing else in the body has that."""
    parameters = {name for i in context.inputs for name in (i.name, i.variable)}
    used = local_names(function)
    taken = used | context.globals | parameters
    found = {}
    for name in read:
        free = name not in taken or (
            name not in context.globals | parameters and _is_continued(function, name)
        )
        found[name] = name if free else fresh(f"{name}_weight", taken)
    return found


def _is_continued(function: cst.FunctionDef, name: str) -> bool:
    """Whether a local of a weight's name is made of the weight, which nothing reads after that.

    As in `bias = self.bias.reshape(shape)`: then it may be the same variable.
    """
    place = _Place(name)
    function.body.visit(place)
    if place.nested:
        return False
    body = list(function.body.body)
    made = next((i for i, item in enumerate(body) if name in local_names(item)), 0)
    match body[made]:
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=target))],
                    value=value,
                )
            ]
        ) if target == name and name not in local_names(value):
            return not any(_Place(name).within(item) for item in body[made + 1 :])
    return False


def _cast(name: str, context: Context) -> str:
    """The weight in the compute dtype."""
    # At the top, the input is still what was given.
    given = context.floating_input
    if context.tree_dtype:
        return f"arrays.cast(trainables.{name}, dtype)"
    if given is None:
        return f"trainables.{name}"
    cast = "cast" if name in context.trees else "in_dtype"
    return f"arrays.{cast}(trainables.{name}, {given}.dtype)"


class _Given(Transformer):
    """Weights that a method is given become its parameters."""

    def __init__(self, parameters: Mapping[str, str]):
        super().__init__()
        self.parameters = parameters

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self.parameters.get(self_attribute(original_node) or "")
        return updated_node if name is None else cst.Name(name)


class _Uses(Visitor):
    """Which weights are read other than to compare them with None."""

    def __init__(self, weights: frozenset[str]):
        super().__init__()
        self.weights = weights
        self.read: set[str] = set()

    def visit_Comparison(self, node: cst.Comparison) -> bool:
        return compared_with_none(node) not in self.weights

    def visit_Attribute(self, node: cst.Attribute) -> None:
        name = self_attribute(node)
        if name and name in self.weights:
            self.read.add(name)


class _Place(Visitor):
    """Whether something reads a weight, and whether some of that is in a nested function."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name
        self.found = self.nested = False

    def within(self, node: cst.CSTNode) -> bool:
        """Whether a node reads the weight."""
        node.visit(self)
        return self.found

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._nested(node)

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self._nested(node)

    def _nested(self, node: cst.FunctionDef | cst.Lambda) -> None:
        inside = _Place(self.name).within(node.body)
        self.nested = self.nested or inside or self.name in local_names(node)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self.found = self.found or self_attribute(node) == self.name


class _Trainables(Transformer):
    def __init__(self, names: Mapping[str, str], weights: frozenset[str]):
        super().__init__()
        self.names = names
        self.weights = weights

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self.names.get(self_attribute(original_node) or "")
        return updated_node if name is None else cst.Name(name)

    def leave_Comparison(
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        name = compared_with_none(original_node)
        if name not in self.weights or name in self.names:
            return updated_node
        return updated_node.with_changes(left=expression(f"trainables.{name}"))
