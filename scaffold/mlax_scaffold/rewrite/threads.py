"""How the states of layers or optimizers go through a loop over them: what is around it, and each call."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from mlax_scaffold.model.library import Traits
from mlax_scaffold.rewrite.hoist import (
    arguments_text,
    handed_text,
    keyword_text,
    layer_call,
    packed,
)


@dataclass(frozen=True)
class Thread:
    """Those of one field."""

    field: str
    variable: str
    index: str
    states: str
    tree = "non_trainables"

    @property
    def indexed(self) -> bool:
        """Whether a call needs to know which turn it is."""
        return True

    @property
    def before(self) -> list[str]:
        return [f"{self.states} = list({self.tree}.{self.field})"]

    @property
    def after(self) -> str:
        """The argument of `_replace` that stores the states."""
        return f"{self.field}=tuple({self.states})"

    def stored(self, calls: list[str]) -> list[str]:
        """Calls that begin with the states as they are, and leave them as they become."""
        if not self.after:
            return calls
        return [
            *self.before,
            *calls,
            f"{self.tree} = {self.tree}._replace({self.after})",
        ]

    def call(self, call: cst.Call, target: str) -> str:
        """The statement of a call."""
        raise NotImplementedError


@dataclass(frozen=True)
class OptimizerThread(Thread):
    """Initialized optimizers."""

    tree = "state"

    def call(self, call: cst.Call, target: str) -> str:
        (gradients, *rest), [(_, key)] = arguments_text(call.args)
        state = f"{self.states}[{self.index}]"
        inputs = inputs_of_step(key)
        given = ", ".join([gradients, state, *rest, *inputs])
        place = f"{self.index}, {self.variable}"
        return f"{target}, {state} = scopes.apply_at({place}, {given})"


@dataclass(frozen=True)
class LayerThread(Thread):
    """Layers: initialized ones, of which nothing is known, or a declared list of them."""

    called: str
    traits: Traits | None
    owner: str

    @property
    def indexed(self) -> bool:
        t = self.traits
        return t is None or t.trainable or t.stateful

    @property
    def before(self) -> list[str]:
        lines = []
        if self.traits is None:
            trees, count = f"non_trainables.{self.field}", f"len(self.{self.field})"
            lines.append(f"{self.states} = arrays.each({trees}, {count})")
        elif self.traits.stateful:
            lines.append(f"{self.states} = list(non_trainables.{self.field})")
        return lines

    @property
    def after(self) -> str:
        if self.traits is None:
            return f"{self.field}=arrays.together({self.states})"
        return super().after if self.traits.stateful else ""

    def call(self, call: cst.Call, target: str) -> str:
        made = layer_call(call, self.traits)
        positional, keyword, key = made.positional, made.keyword, made.key
        t, turn = self.traits, f"[{self.index}]"
        stateful = t is None or t.stateful
        state = f"{self.states}{turn}" if stateful else "None"
        weights = f"trainables.{self.field}{turn}"
        given = [self.index, self.variable] if t is None else []
        given.append(packed(positional))
        given.append(weights if t is None or t.trainable else "None")
        given.append(state)
        if t is not None:
            given.append(self.variable)
        if t is None or t.training:
            given.append("inference_mode")
        if key is not None:
            named = "" if t is None or t.training else "key="
            given.append(f"{named}{key}")
        for name, text in keyword:
            if name == "**":
                given.append(f"**arrays.taken({self.variable}, {text})")
            elif t is not None:
                given.append(keyword_text(name, text))
        if t is None and (handed := handed_text(self.owner, self.variable, keyword)):
            given.append(handed)
        new = state if stateful else "_"
        return f"{target}, {new} = {self.called}({', '.join(given)})"


def inputs_of_step(key: str, **others: str) -> tuple[str, ...]:
    """The keyword arguments that an optimizer hands to another one: its own, or others."""
    given = {"value": "value", "value_and_gradients": "value_and_gradients", "key": key}
    return tuple(f"{name}={text}" for name, text in (given | others).items())
