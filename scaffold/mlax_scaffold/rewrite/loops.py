"""`for layer in self.layers` becomes a loop that threads each layer's state and key.

The same for optimizers: `for transformation in self.transformations`.
"""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.model.library import Traits
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.hoist import (
    Hoister,
    arguments_text,
    handed_text,
    keyword_text,
    packed,
)
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
        looped = self._looped(updated_node)
        if not looped:
            return updated_node
        index = fresh("i", self.taken)
        loop = [self._layer(field, v, index, len(looped)) for field, v in looped]
        threads = {thread.variable: thread for thread in loop}

        def wanted(call: cst.Call) -> str | None:
            name = call.func.value if isinstance(call.func, cst.Name) else None
            return f"{name}_output" if name in threads else None

        def emit(call: cst.Call, target: str) -> list[str]:
            return [threads[code(call.func)].call(call, target)]

        body = updated_node.body.visit(Hoister(wanted, emit, self.taken))
        target, iterated = updated_node.target, updated_node.iter
        if any(thread.indexed for thread in loop):
            target = _enumerated_target(index, target)
            iterated = expression(f"enumerate({code(iterated)})")
        before = [line for thread in loop for line in thread.before]
        after = ", ".join(thread.after for thread in loop if thread.after)
        tree = "state" if self._optimizes else "non_trainables"
        statements: list[cst.BaseStatement] = [
            *map(statement, before),
            updated_node.with_changes(
                target=target, iter=iterated, body=body, leading_lines=[]
            ),
        ]
        if after:
            statements.append(statement(f"{tree} = {tree}._replace({after})"))
        first = statements[0].with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel([first, *statements[1:]])

    @property
    def _optimizes(self) -> bool:
        return self.context.definition.kind is Kind.OPTIMIZER

    def _looped(self, loop: cst.For) -> list[tuple[str, str]]:
        """The fields that are looped over, each with the variable that is a layer."""
        match loop:
            case cst.For(target=cst.Name() as target, iter=iterated):
                pairs = [(target, iterated)]
            case cst.For(
                target=cst.Tuple(elements=targets),
                iter=cst.Call(func=cst.Name("zip"), args=iterables),
            ):
                pairs = [
                    (t.value, i.value) for t, i in zip(targets, iterables, strict=False)
                ]
            case _:
                return []
        found = [(self_attribute(iterated), code(target)) for target, iterated in pairs]
        return [(f, v) for f, v in found if f and f in self.context.sequences]

    def _layer(self, field: str, variable: str, index: str, looped: int) -> _Thread:
        """What a loop does for one of the fields that it runs over."""
        states = fresh("states" if looped == 1 else f"{variable}_states", self.taken)
        if self._optimizes:
            keys = fresh(f"{variable}_keys", self.taken)
            return _Optimizers(field, variable, index, states, keys)
        declared = self.context.several
        traits = self.context.traits[field] if field in declared else None
        keys = fresh(f"{variable}_keys", self.taken)
        called = f"{variable}.apply"
        if traits is not None:
            reference = self.context.declarations[field].reference
            assert reference is not None
            called = f"{reference.name}.fwd"
        owner = self.context.definition.name
        return _Layers(field, variable, index, states, keys, called, traits, owner)


@dataclass(frozen=True)
class _Thread:
    """How the states of one field go through a loop: what stands before and after, and each call."""

    field: str
    variable: str
    index: str
    states: str

    @property
    def indexed(self) -> bool:
        """Whether a call needs to know which turn it is."""
        return True

    @property
    def before(self) -> list[str]:
        return [f"{self.states} = list(state.{self.field})"]

    @property
    def after(self) -> str:
        """The argument of `_replace` that stores the states."""
        return f"{self.field}=tuple({self.states})"

    def call(self, call: cst.Call, target: str) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class _Optimizers(_Thread):
    """Initialized optimizers."""

    keys: str

    @property
    def before(self) -> list[str]:
        return [
            *super().before,
            f"{self.keys} = self.keys(len(self.{self.field}))",
        ]

    def call(self, call: cst.Call, target: str) -> str:
        gradients, *rest = arguments_text(call.args)[0]
        state = f"{self.states}[{self.index}]"
        inputs = inputs_of_step(f"{self.keys}[{self.index}]")
        given = ", ".join([gradients, state, *rest, *inputs])
        return f"{target}, {state} = {self.variable}.apply({given})"


@dataclass(frozen=True)
class _Layers(_Thread):
    """Layers: initialized ones, of which nothing is known, or a declared list of them."""

    keys: str
    called: str
    traits: Traits | None
    owner: str

    @property
    def indexed(self) -> bool:
        t = self.traits
        return t is None or t.trainable or t.stateful or t.draws

    @property
    def before(self) -> list[str]:
        lines = []
        if self.traits is None:
            trees, count = f"non_trainables.{self.field}", f"len(self.{self.field})"
            lines.append(f"{self.states} = arrays.each({trees}, {count})")
        elif self.traits.stateful:
            lines.append(f"{self.states} = list(non_trainables.{self.field})")
        if self.traits is None or self.traits.draws:
            lines.append(f"{self.keys} = self.keys(len(self.{self.field}))")
        return lines

    @property
    def after(self) -> str:
        if self.traits is None:
            return f"{self.field}=arrays.together({self.states})"
        return super().after if self.traits.stateful else ""

    def call(self, call: cst.Call, target: str) -> str:
        positional, keyword = arguments_text(call.args)
        t, turn = self.traits, f"[{self.index}]"
        stateful = t is None or t.stateful
        state = f"{self.states}{turn}" if stateful else "None"
        weights = f"trainables.{self.field}{turn}"
        given = [packed(positional)]
        given.append(weights if t is None or t.trainable else "None")
        given.append(state)
        if t is not None:
            given.append(self.variable)
        if t is None or t.training:
            given.append("inference_mode")
        if t is None or t.draws:
            named = "" if t is None or t.training else "key="
            given.append(f"{named}{self.keys}{turn}")
        for name, text in keyword:
            if name == "**":
                given.append(f"**arrays.taken({self.variable}, {text})")
            elif t is not None:
                given.append(keyword_text(name, text))
        if t is None and (handed := handed_text(self.owner, self.variable, keyword)):
            given.append(handed)
        new = state if stateful else "_"
        return f"{target}, {new} = {self.called}({', '.join(given)})"


def inputs_of_step(key: str) -> tuple[str, ...]:
    """The keyword arguments that an optimizer hands to another one."""
    return ("value=value", "value_and_gradients=value_and_gradients", f"key={key}")


def _enumerated_target(index: str, target: cst.BaseAssignTargetExpression):
    inner = code(target)
    if isinstance(target, cst.Tuple) and not target.lpar:
        inner = f"({inner})"
    return expression(f"{index}, {inner}")
