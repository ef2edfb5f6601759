"""A local that has the name of an attribute of self gets another name, where attributes become locals.

`setup`, `prepare` and `update` become functions in which `self.mean` is the variable `mean`: a `mean` that
the spec binds beside it would be the same variable.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import MethodRole, Role
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.rewrite import optimizer
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import Renamer, fresh, local_names

SUFFIXES = {
    Role.TRAINABLE: ("_initializer",),
    Role.SUB_LAYER: ("_weights", "_state", "_hyperparams"),
}
"""Ends of the names that a declaration makes in `init`, beside its own."""


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    attributes = _attributes(context)
    clashing = sorted(attributes & context.method.bound)
    if not clashing:
        return function
    taken = local_names(function) | attributes | context.taken
    names = {name: fresh(name, taken) for name in clashing}
    return cst.ensure_type(function.visit(Renamer(names)), cst.FunctionDef)


def make_way(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """Give locals of a layer that are called like what generated code uses another name."""
    clashing = sorted(RESERVED & context.method.bound)
    if not clashing:
        return function
    taken = local_names(function) | RESERVED | context.taken
    names = {name: fresh(f"{name}_", taken) for name in clashing}
    return cst.ensure_type(function.visit(Renamer(names)), cst.FunctionDef)


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
    used = optimizer.scalars(context) & (method.reads | set(method.assigns))
    if method.role is MethodRole.UPDATE:
        moments = {d.name for d in definition.declared(Role.MOMENT)}
        return used | moments | context.fields("Mask") | {"key", "keys"}
    return used | optimizer.INPUTS
