"""A local that has the name of an attribute of self gets another name, where attributes become locals.

`setup`, `prepare` and `update` become functions in which `self.mean` is the variable `mean`: a `mean` that
the spec binds beside it would be the same variable.
"""

from __future__ import annotations

from collections import Counter

import libcst as cst

from mlax_scaffold.model.definition import Kind, MethodRole, Role
from mlax_scaffold.model.reserved import OF_OPTIMIZERS, RESERVED
from mlax_scaffold.rewrite import optimizer
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    Renamer,
    bound_names,
    comments_in,
    fresh,
    local_names,
    self_attribute,
)
from mlax_scaffold.rewrite.traversal import Visitor

SUFFIXES = {
    Role.TRAINABLE: ("_initializer",),
    Role.SUB_LAYER: ("_weights", "_state", "_hyperparams"),
    Role.OPTIMIZER: ("_state", "_hyperparams"),
}
"""Ends of the names that a declaration makes in `init`, beside its own."""


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    attributes = _attributes(context)
    clashing = sorted(attributes & context.method.bound)
    if not clashing:
        return function
    taken = local_names(function) | attributes | context.taken
    kept = _kept(function, context)
    names = {n: fresh(f"local_{n}", taken) for n in clashing if n not in kept}
    return cst.ensure_type(
        function.visit(Renamer(names, context.method.bound)), cst.FunctionDef
    )


def _kept(function: cst.FunctionDef, context: Context) -> set[str]:
    """Locals of `setup` that are bound once, to become the attribute of their name at once.

    Then the local is that attribute, and nothing remains of `self.half = half`.
    """
    derived = context.declared(Role.DERIVED)
    found, bound, previous = set(), Counter[str](), ""
    for item in function.body.body:
        match item:
            case cst.SimpleStatementLine(
                body=[
                    cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)
                ]
            ):
                name = self_attribute(target)
                bound.update(local_names(target))
                documented = all(c.startswith("#:") for c in comments_in(item))
                itself = isinstance(value, cst.Name) and value.value == name == previous
                if name in derived and itself and documented:
                    found.add(name)
                previous = target.value if isinstance(target, cst.Name) else ""
            case _:
                bound.update(local_names(item) & derived)
                previous = ""
    return {name for name in found if bound[name] == 1}


def make_way(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """Give locals that are called like what generated code uses another name."""
    reserved = (RESERVED | context.functions) - {"self"}
    if context.definition.kind is Kind.OPTIMIZER:
        reserved |= OF_OPTIMIZERS
        if context.method.role is MethodRole.STEP:
            reserved -= {"updates"}
    inputs = {i.name: i.variable for i in context.inputs if i.alias}
    own = context.parameters if context.is_own else frozenset()
    if not inputs and not reserved & (context.method.bound | own):
        return function
    shadowing = _Shadowing()
    function.body.visit(shadowing)
    others = shadowing.others | bound_names(function.body)
    bound = context.method.bound - (shadowing.parameters - others) | own
    clashing = sorted((reserved & bound) - {i.name for i in context.inputs})
    if not clashing and not inputs:
        return function
    taken = local_names(function) | reserved | context.taken
    names = inputs | {name: fresh(f"{name}_", taken) for name in clashing}
    return cst.ensure_type(
        function.visit(Renamer(names, context.method.bound)), cst.FunctionDef
    )


class _Shadowing(Visitor):
    """Parameters of nested functions that hide nothing: no generated name stands in these."""

    def __init__(self) -> None:
        super().__init__()
        self.parameters: set[str] = set()
        self.others: set[str] = set()
        """Names of functions, and of parameters that hide what `self` becomes."""

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self._function(node)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.others.add(node.name.value)
        self._function(node)

    def _function(self, node: cst.Lambda | cst.FunctionDef) -> None:
        params = node.params
        given = (*params.posonly_params, *params.params, *params.kwonly_params)
        names = {param.name.value for param in given}
        hides = "self" in local_names(node.body)
        (self.others if hides else self.parameters).update(names)


def _attributes(context: Context) -> set[str] | frozenset[str]:
    """Names of the locals that the attributes of self become."""
    definition, method = context.definition, context.method
    if method.role in (MethodRole.SETUP, MethodRole.SETUP_TREE):
        fields = (*definition.hyperparameters, *definition.initializers)
        names = {h.name for h in fields}
        for declaration in definition.declarations:
            suffixes = ("", *SUFFIXES.get(declaration.role, ()))
            names |= {declaration.name + suffix for suffix in suffixes}
        return names
    used = {*optimizer.scalars(definition)} & {*method.reads, *method.assigns}
    if method.role is MethodRole.UPDATE:
        moments = {d.name for d in definition.declared(Role.MOMENT)}
        return used | moments | context.fields("mask") | {"key", "keys"}
    return used | optimizer.INPUTS
