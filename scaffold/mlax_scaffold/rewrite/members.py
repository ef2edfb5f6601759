"""Containers of `setup`: what is declared in them becomes members, which get their keys at the end."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Declaration, Kind, Reference, Role
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import code, expression, self_attribute, statement
from mlax_scaffold.rewrite.traversal import Transformer, Visitor

_KEYED = (Role.TRAINABLE, Role.STATE, Role.SUB_LAYER)
_ARRAYS = {"trainable": "weight", "state": "state"}


def keys_of(context: Context) -> dict[str, str]:
    """The key of each declaration that has one, by its name."""
    names = [d.name for d in context.definition.declarations if d.role in _KEYED]
    if len(names) == 1:
        return {names[0]: "key"}
    return {name: f"keys[{i}]" for i, name in enumerate(names)}


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    held = [d for d in context.definition.declarations if d.members]
    if not held:
        return function
    if context.definition.kind is Kind.OPTIMIZER:
        return cst.ensure_type(function.visit(_Moments(context)), cst.FunctionDef)
    function = cst.ensure_type(function.visit(_Members(context)), cst.FunctionDef)
    block = cst.ensure_type(function.body, cst.IndentedBlock)
    first = [statement(f"self.{d.name} = None") for d in held if d.absent]
    keys = keys_of(context)
    last = [statement(_made(d, keys[d.name], context)) for d in held]
    return function.with_changes(
        body=block.with_changes(body=[*first, *block.body, *last])
    )


def _made(d: Declaration, key: str, context: Context) -> str:
    traits = context.traits.get(d.name)
    keyed = traits is None or traits.keyed
    given = f"{key if keyed else None}, self.{d.name}, {'dtype' if keyed else None}"
    targets = {
        Role.TRAINABLE: f"{d.name}, _, _",
        Role.STATE: f"_, {d.name}, _",
    }
    weights = "_" if traits is None or not traits.trainable else f"{d.name}_weights"
    states = "_" if traits is None or not traits.stateful else f"{d.name}_state"
    target = targets.get(d.role, f"{weights}, {states}, {d.name}_hyperparams")
    return f"{target} = containers.made({given})"


class _Members(Transformer):
    """Calls that declare members, but for those that declare an attribute by themselves."""

    def __init__(self, context: Context):
        super().__init__()
        self.context = context
        imported = context.definition.imports
        self.layers = {
            i.name: i.reference for i in imported if i.reference in context.kinds
        }
        self.plain: set[cst.CSTNode] = set()

    def visit_Assign(self, node: cst.Assign) -> None:
        name = self_attribute(node.targets[0].target) or ""
        declared = self.context.declarations.get(name)
        if declared is not None and not declared.members:
            # What stands there declares it, and what it is given is no member.
            node.value.visit(_Calls(self.plain))

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        name = code(updated_node.func)
        if original_node in self.plain:
            return updated_node
        if name in _ARRAYS:
            return updated_node.with_changes(
                func=expression(f"containers.{_ARRAYS[name]}")
            )
        reference = self.layers.get(name)
        return (
            updated_node if reference is None else self._layer(reference, updated_node)
        )

    def _layer(self, reference: Reference, call: cst.Call) -> cst.Call:
        first = [f"{reference.name}.init"]
        how = "layer" if self.context.kinds[reference].keyed else "plain"
        stacked = self.context.stacked.get(reference)
        if stacked:
            how = "stacked"
            first.insert(0, repr(stacked))
        given = [cst.Arg(expression(text)) for text in first]
        return call.with_changes(
            func=expression(f"containers.{how}"), args=[*given, *call.args]
        )


class _Moments(_Members):
    """The moments of an optimizer that are members: each is created where it stands."""

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        if original_node in self.plain or code(updated_node.func) != "moment":
            return updated_node
        positional = [code(a.value) for a in updated_node.args if not a.keyword]
        named = [code(a.value) for a in updated_node.args if a.keyword]
        if len(positional) == 1:
            return expression(created_moment(positional[0], None, *named))
        first, shape, *dtype = positional
        return expression(created_moment(first, shape, *dtype, *named))


def created_moment(first: str, shape: str | None, dtype: str = "None") -> str:
    """What makes a moment of a weight: by an initializer, or, without a shape, as a copy."""
    if shape is None:
        return f"placement.copied({first}, {dtype})"
    return f"placement.create_moment({first}, {shape}, {dtype}, param)"


class _Calls(Visitor):
    def __init__(self, found: set[cst.CSTNode]):
        super().__init__()
        self.found = found

    def visit_Call(self, node: cst.Call) -> None:
        self.found.add(node)
