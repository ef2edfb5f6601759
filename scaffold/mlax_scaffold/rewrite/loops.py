"""`for layer in self.layers` becomes a loop that threads each layer's state and key.

The same for optimizers: `for transformation in self.transformations`.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.hoist import Hoister, arguments_text, packed
from mlax_scaffold.rewrite.nodes import (
    code,
    expression,
    fresh,
    local_names,
    self_attribute,
    statement,
)


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not context.sequences:
        return function
    taken = local_names(function) | context.taken
    return cst.ensure_type(function.visit(_Loops(context, taken)), cst.FunctionDef)


class _Loops(cst.CSTTransformer):
    def __init__(self, context: Context, taken: set[str]):
        super().__init__()
        self.context = context
        self.taken = taken

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        found = self._layers(updated_node)
        if found is None:
            return updated_node
        field, variable = found
        index = fresh("i", self.taken)
        if self.context.definition.kind is Kind.OPTIMIZER:
            before, after, emit = self._optimizers(field, variable, index)
        else:
            before, after, emit = self._threaded_layers(field, variable, index)

        def wanted(call: cst.Call) -> str | None:
            called = isinstance(call.func, cst.Name) and call.func.value == variable
            return f"{variable}_output" if called else None

        body = updated_node.body.visit(Hoister(wanted, emit, self.taken))
        loop = updated_node.with_changes(
            target=_enumerated_target(index, updated_node.target),
            iter=expression(f"enumerate({code(updated_node.iter)})"),
            body=body,
            leading_lines=[],
        )
        first, *rest = map(statement, before)
        first = first.with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel([first, *rest, loop, *map(statement, after)])

    def _layers(self, loop: cst.For) -> tuple[str, str] | None:
        """The field that is looped over, and the variable that is a layer."""
        match loop:
            case cst.For(target=cst.Name(value=variable), iter=iterated):
                pass
            case cst.For(
                target=cst.Tuple(
                    elements=[cst.Element(value=cst.Name(value=variable)), *_]
                ),
                iter=cst.Call(func=cst.Name("zip"), args=[first, *_]),
            ):
                iterated = first.value
            case _:
                return None
        field = self_attribute(iterated)
        if field is None or field not in self.context.sequences:
            return None
        return field, variable

    def _threaded_layers(self, field: str, variable: str, index: str):
        states = fresh("states", self.taken)
        keys = fresh(f"{variable}_keys", self.taken)
        before = [
            f"{states} = list(non_trainables.{field})",
            f"{keys} = self.keys(len(self.{field}))",
        ]
        after = [f"non_trainables = non_trainables._replace({field}=tuple({states}))"]

        def emit(call: cst.Call, target: str) -> list[str]:
            positional, keyword = arguments_text(call.args)
            given = [
                packed(positional),
                f"trainables.{field}[{index}]",
                f"{states}[{index}]",
                "inference_mode",
                f"{keys}[{index}]",
                *(f"{name}={text}" for name, text in keyword),
            ]
            return [
                f"{target}, {states}[{index}] = {variable}.apply({', '.join(given)})"
            ]

        return before, after, emit

    def _optimizers(self, field: str, variable: str, index: str):
        states = fresh("states", self.taken)
        keys = fresh(f"{variable}_keys", self.taken)
        before = [
            f"{states} = list(state.{field})",
            f"{keys} = self.keys(len(self.{field}))",
        ]
        after = [f"state = state._replace({field}=tuple({states}))"]

        def emit(call: cst.Call, target: str) -> list[str]:
            gradients, *rest = arguments_text(call.args)[0]
            inputs = inputs_of_step(f"{keys}[{index}]")
            given = ", ".join([gradients, f"{states}[{index}]", *rest, *inputs])
            return [f"{target}, {states}[{index}] = {variable}.apply({given})"]

        return before, after, emit


def inputs_of_step(key: str) -> tuple[str, ...]:
    """The keyword arguments that an optimizer hands to another one."""
    return ("value=value", "value_and_gradients=value_and_gradients", f"key={key}")


def _enumerated_target(index: str, target: cst.BaseAssignTargetExpression):
    inner = code(target)
    if isinstance(target, cst.Tuple) and not target.lpar:
        inner = f"({inner})"
    return expression(f"{index}, {inner}")
