"""What the passes know of the spec whose method they rewrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from mlax_scaffold.model.definition import (
    ArrayType,
    Declaration,
    Definition,
    Input,
    Method,
    Role,
)
from mlax_scaffold.model.library import Traits
from mlax_scaffold.model.reserved import RESERVED


@dataclass(frozen=True)
class Context:
    """One method of one definition, with what is known of its sub-layers."""

    definition: Definition
    method: Method
    traits: Mapping[str, Traits]
    """Traits of each declared sub-layer, by the name of the declaration."""

    @cached_property
    def declarations(self) -> Mapping[str, Declaration]:
        return {d.name: d for d in self.definition.declarations}

    @cached_property
    def dynamic(self) -> frozenset[str]:
        """Fields that hold one initialized layer."""
        return frozenset(
            h.name
            for h in self.definition.structural()
            if h.type.word.name in ("SubLayer", "Cell", "Stacked")
        )

    @cached_property
    def several(self) -> frozenset[str]:
        """Names of the lists of sub-layers that are declared."""
        return frozenset(d.name for d in self.definition.declarations if d.several)

    @cached_property
    def sequences(self) -> frozenset[str]:
        """Names of several layers or optimizers, initialized or declared."""
        structural = frozenset(h.name for h in self.definition.structural())
        return (structural - self.dynamic - self.sub_optimizers) | self.several

    @cached_property
    def sub_optimizers(self) -> frozenset[str]:
        """Fields that hold one initialized optimizer."""
        return self.fields("SubOptimizer")

    def fields(self, word: str) -> frozenset[str]:
        """The hyperparameters of a word."""
        return frozenset(
            h.name for h in self.definition.hyperparameters if h.type.word.name == word
        )

    def declared(self, *roles: Role) -> frozenset[str]:
        return frozenset(d.name for d in self.definition.declared(*roles))

    @cached_property
    def sub_layers(self) -> frozenset[str]:
        """Names that `forward` may call as `self.name(...)`."""
        return (self.declared(Role.SUB_LAYER) - self.several) | self.dynamic

    def draws(self, consumer: str) -> bool:
        """Whether a place that may take a key does."""
        traits = self.traits.get(consumer)
        return traits is None or traits.draws

    def draws_in(self, name: str) -> bool:
        """Whether another method takes a key."""
        method = self.definition.method(name)
        return method is not None and bool(method.consumers)

    @cached_property
    def floating_input(self) -> str | None:
        """Expression of the first floating input; None where there is none."""
        for item in self.method.positional:
            found = _first_floating(item.name, item.type)
            if found:
                return found
        return None

    @cached_property
    def rebinds_input(self) -> bool:
        """Whether the body assigns to the input that gives the compute dtype."""
        return (self.floating_input or "").partition("[")[0] in self.method.bound

    @property
    def compute_dtype(self) -> str | None:
        """Expression of the compute dtype; None: that of the weights."""
        if self.floating_input is None:
            return None
        return "dtype" if self.rebinds_input else f"{self.floating_input}.dtype"

    @cached_property
    def globals(self) -> frozenset[str]:
        """Names that the generated module may use for something else than a local."""
        own = (*self.definition.imports, *self.definition.helpers)
        return RESERVED | {o.name for o in own} | {"jax", "jnp"}

    @cached_property
    def taken(self) -> frozenset[str]:
        """Names that a temporary of the generated function may not have."""
        weights = self.declared(Role.TRAINABLE, Role.STATE)
        inputs = {i.name for i in self.inputs}
        return self.globals | self.method.names | weights | inputs

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self.method.inputs


def _first_floating(expression: str, array: ArrayType) -> str | None:
    if array.kind == "Float" and not array.optional:
        return expression
    if array.kind == "tuple":
        for i, item in enumerate(array.items):
            found = _first_floating(f"{expression}[{i}]", item)
            if found:
                return found
    return None


Pass = Callable[[cst.FunctionDef, Context], cst.FunctionDef]
