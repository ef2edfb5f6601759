"""`self.optimizer(grads, params)` becomes a call that threads the optimizer's state.

So does one of a function inside of the method that sets states.

`self.optimizer.apply(grads, state, params)` is a pure call, which is given the inputs of the step, and
`self.optimizer.state` the field of the state.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.closures import STATE, takes
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.hoist import Hoister, arguments_text
from mlax_scaffold.rewrite.nodes import (
    code,
    expression,
    fresh,
    local_names,
    self_attribute,
)
from mlax_scaffold.rewrite.order import read_before, with_plain_sums
from mlax_scaffold.rewrite.threads import inputs_of_step
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not context.sub_optimizers and not context.marks:
        return function
    function = with_plain_sums(function, context)
    taken = local_names(function) | context.taken
    # Those whose state `setup_tree` sets may have moments of other shapes than the weights.
    tree = context.definition.method("setup_tree")
    others = context.sub_optimizers & tree.renewed if tree else frozenset()

    def wanted(call: cst.Call) -> str | None:
        if takes(call, STATE):
            return "result"
        name = self_attribute(call.func)
        return f"{name}_updates" if name in context.sub_optimizers else None

    def emit(call: cst.Call, target: str) -> list[str]:
        if takes(call, STATE):
            text = code(call).replace(STATE, "state")
            if not target.startswith("self."):
                return [f"{target}, state = {text}"]
            result = fresh("result", taken)
            taken.discard(result)
            return [f"{result}, state = {text}", f"{target} = {result}"]
        name = self_attribute(call.func) or ""
        (gradients, params), inputs = arguments_text(call.args)
        inputs = inputs_of_step(**dict(inputs))
        given = ", ".join([gradients, f"state.{name}", params, *inputs])
        new = fresh(f"{name}_state", taken)
        taken.discard(new)
        kept, stored = [], new
        if name in others:
            stored = f"placement.kept({new}, state.{name}, trainables)"
        if target.startswith("self."):
            # A moment is replaced by a statement of its own.
            updates = fresh(f"{name}_updates", taken)
            taken.discard(updates)
            kept, target = [f"{target} = {updates}"], updates
        return [
            f"{target}, {new} = hyperparams.{name}.apply({given})",
            f"state = state._replace({name}={stored})",
            *kept,
        ]

    reads = read_before(function, context)
    hoister = Hoister(wanted, emit, taken, returned="updates", reads=reads)
    function = cst.ensure_type(function.visit(hoister), cst.FunctionDef)
    return cst.ensure_type(function.visit(_Pure(context)), cst.FunctionDef)


class _Pure(Transformer):
    """`self.optimizer.apply(...)`, and reads and assignments of `self.optimizer.state`."""

    def __init__(self, context: Context):
        super().__init__()
        self.optimizers = context.sub_optimizers

    def _field(self, node: cst.CSTNode, attribute: str) -> str | None:
        match node:
            case cst.Attribute(value=owner, attr=cst.Name(value=found)):
                name = self_attribute(owner)
                if found == attribute and name in self.optimizers:
                    return name
        return None

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        name = self._field(original_node.func, "apply")
        if name is None:
            return updated_node
        positional, inputs = arguments_text(updated_node.args)
        given = ", ".join([*positional, *inputs_of_step(**dict(inputs))])
        return expression(f"hyperparams.{name}.apply({given})")

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self._field(original_node, "state")
        return updated_node if name is None else expression(f"state.{name}")

    def leave_Assign(
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.Assign:
        name = self._field(original_node.targets[0].target, "state")
        if name is None:
            return updated_node
        value = code(updated_node.value)
        return updated_node.with_changes(
            targets=[cst.AssignTarget(cst.Name("state"))],
            value=expression(f"state._replace({name}={value})"),
        )
