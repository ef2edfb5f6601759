"""`self.key()` becomes the PRNG key of its place, and each sub-layer's call gets its own.

The places that take a key are numbered in the order of the text. One place takes the key of `fwd` itself;
several take the parts of a split.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import code, expression, self_attribute, with_prelude


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not context.consumers:
        return function
    function = cst.ensure_type(function.visit(_Keys(context)), cst.FunctionDef)
    if context.consumers == 1:
        return function
    return with_prelude(
        function, [f"keys = arrays.split_keys(key, {context.consumers})"]
    )


def applied_optimizer(call: cst.Call, context: Context) -> str | None:
    """The field `name` of the calls `self.name(...)` and `self.name.apply(...)` of an optimizer."""
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value == "apply":
        owner = self_attribute(function.value)
        if owner in context.sub_optimizers:
            return owner
    name = self_attribute(function)
    return name if name in context.sub_optimizers else None


class _Keys(cst.CSTTransformer):
    def __init__(self, context: Context):
        super().__init__()
        self.context = context
        self.numbers: dict[cst.Call, int] = {}

    def visit_Call(self, node: cst.Call) -> None:
        # Calls are visited in the order of the text, and left in that of evaluation.
        name = self_attribute(node.func)
        if (
            applied_optimizer(node, self.context) is not None
            or name in ("key", "keys")
            or (name in self.context.sub_layers and self.context.draws(name or ""))
        ):
            self.numbers[node] = len(self.numbers)

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        number = self.numbers.get(original_node)
        if number is None:
            return updated_node
        key = "key" if self.context.consumers == 1 else f"keys[{number}]"
        match self_attribute(original_node.func):
            case "key":
                name = self.context.definition.name
                if self.context.definition.kind is Kind.OPTIMIZER:
                    return expression(f"trees.required({name!r}, key={key})")
                return expression(f"checks.require_key({name!r}, {key})")
            case "keys":
                count = code(updated_node.args[0].value)
                return expression(f"arrays.split_keys({key}, {count})")
        argument = cst.Arg(keyword=cst.Name("key"), value=expression(key))
        return updated_node.with_changes(args=[*updated_node.args, argument])
