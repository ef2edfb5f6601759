"""`self.query(x)` becomes a call of the sub-layer's `fwd`, in a statement that threads its state."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.hoist import (
    Hoister,
    arguments_text,
    handed_text,
    keyword_text,
    packed,
)
from mlax_scaffold.rewrite.nodes import (
    expression,
    fresh,
    local_names,
    self_attribute,
)


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not context.sub_layers:
        return function
    taken = local_names(function) | context.taken
    # Each state is written back at once, so that its name can serve again.
    states: dict[str, str] = {}

    def wanted(call: cst.Call) -> str | None:
        name = self_attribute(call.func)
        return name if name in context.sub_layers else None

    def emit(call: cst.Call, target: str) -> list[str]:
        name = self_attribute(call.func) or ""
        if name not in states:
            states[name] = fresh(f"{name}_state", taken)
        return _threaded_call(context, name, call, target, states[name])

    function = cst.ensure_type(
        function.visit(Hoister(wanted, emit, taken)), cst.FunctionDef
    )
    return cst.ensure_type(function.visit(_RawLayers(context)), cst.FunctionDef)


def _threaded_call(
    context: Context, name: str, call: cst.Call, target: str, state: str
) -> list[str]:
    positional, keyword = arguments_text(call.args)
    key = dict(keyword).get("key")
    keyword = [(k, text) for k, text in keyword if k != "key"]
    inputs = [keyword_text(k, text) for k, text in keyword]
    traits = context.traits.get(name)
    if traits is None:
        layer = f"hyperparams.{name}"
        inputs = [text for text in inputs if text.startswith("**")]
        inputs += filter(None, [handed_text(context.definition.name, layer, keyword)])
        given = [
            packed(positional),
            f"trainables.{name}",
            f"non_trainables.{name}",
            "inference_mode",
            key or "None",
            *inputs,
        ]
        called, stateful = f"{layer}.apply", True
    else:
        reference = context.declarations[name].reference
        assert reference is not None
        given = [
            packed(positional),
            f"trainables.{name}" if traits.trainable else "None",
            f"non_trainables.{name}" if traits.stateful else "None",
            f"hyperparams.{name}",
        ]
        if traits.training:
            given.append("inference_mode")
        if key is not None:
            given.append(key if traits.training else f"key={key}")
        given += inputs
        called, stateful = f"{reference.name}.fwd", traits.stateful
    if not stateful:
        return [f"{target}, _ = {called}({', '.join(given)})"]
    return [
        f"{target}, {state} = {called}({', '.join(given)})",
        f"non_trainables = non_trainables._replace({name}={state})",
    ]


class _RawLayers(cst.CSTTransformer):
    """`self.layer.apply(...)`, `self.layer.trainables` and `self.layer.non_trainables` of a block."""

    def __init__(self, context: Context):
        super().__init__()
        self.context = context

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        match updated_node.func:
            case cst.Attribute(value=owner, attr=cst.Name("apply")) if (
                self_attribute(owner) in self.context.dynamic
            ):
                arguments = list(updated_node.args)
                mode = cst.Arg(expression("inference_mode"))
                return updated_node.with_changes(
                    args=[*arguments[:3], mode, *arguments[3:]]
                )
        return updated_node

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(updated_node.value)
        tree = updated_node.attr.value
        if name in self.context.dynamic and tree in ("trainables", "non_trainables"):
            return expression(f"{tree}.{name}")
        return updated_node
