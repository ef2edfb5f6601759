"""Optimizers in another one that runs eagerly: given ones, and those that its `setup_tree` makes."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlax_scaffold.reader.source import self_attribute
from mlax_scaffold.spec.declared import parse
from mlax_scaffold.spec.runtime import runtime

if TYPE_CHECKING:
    from mlax_scaffold.spec.optimizer import Optimizer

depends = runtime("_core.dependence").depends


class EagerOptimizerHyperparams:
    """The hyperparameters of an optimizer, with the interface of generated ones."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.made = optimizer

    def apply(
        self, grads: Any, state: Any, params: Any, **inputs: Any
    ) -> tuple[Any, Any]:
        """`step`, as a pure function."""
        optimizer = self.made._clone_()
        optimizer.load(state)
        updates = optimizer.step(grads, params, **inputs)
        # What carries a state keeps its structure.
        new = optimizer.state
        if isinstance(state, Mapping):
            return updates, {name: new[name] for name in state}
        return updates, state._replace(**{name: new[name] for name in state._fields})

    def initial_state(self, params: Any) -> Any:
        """The state before the first step, for these weights."""
        fields, values = self.made._fields_, dict(self.made._hyperparameters_)

        def renewed(inner: SubOptimizer) -> tuple[Any, Any]:
            return inner.initial_state(params), inner.hyperparams

        for name in fields.holding("optimizers"):
            values[name] = tuple(map(renewed, values[name]))
        for name in fields.holding("optimizer"):
            values[name] = renewed(values[name])
        optimizer = type(self.made)(**values)
        optimizer.initialize(params)
        return optimizer.state

    def keeps_weights(self, params: Any) -> bool:
        """Whether the state is of these weights, and not of their gradients alone."""
        kept = type(self.made)._keeps_weights_
        return depends(self.initial_state, params) if kept is None else kept


@dataclass
class SubOptimizer:
    """An initialized optimizer in another one; one that is made there has no state before that is."""

    state: Any
    hyperparams: Any

    @classmethod
    def of(cls, given: Any) -> SubOptimizer:
        """What a field is given: an initialized optimizer, or one that `setup_tree` makes."""
        if isinstance(given, tuple):
            return cls(*given)
        return cls(None, EagerOptimizerHyperparams(given))

    def initial_state(self, params: Any) -> Any:
        """The state before the first step, for these weights."""
        return self.hyperparams.initial_state(params)

    def keeps_weights(self, params: Any) -> bool:
        """Whether the state is of these weights, and not of their gradients alone."""
        return self.hyperparams.keeps_weights(params)

    def initialize(self, params: Any) -> None:
        """Makes the state of one that is made there."""
        if self.state is None:
            self.hyperparams.made.initialize(params)
            self.state = self.hyperparams.made.state


@dataclass(frozen=True)
class Given:
    """An inner optimizer with inputs of its own: how it is run at one place."""

    optimizer: SubOptimizer
    inputs: dict[str, Any]

    def __call__(self, grads: Any, params: Any, **inputs: Any) -> Any:
        updates, new = self.apply(grads, self.optimizer.state, params, **inputs)
        self.optimizer.state = new
        return updates

    @property
    def state(self) -> Any:
        """Its state."""
        return self.optimizer.state

    def apply(
        self, grads: Any, state: Any, params: Any, **inputs: Any
    ) -> tuple[Any, Any]:
        """A pure step, of which some inputs may be others."""
        apply = self.optimizer.hyperparams.apply
        return apply(grads, state, params, **self.inputs | inputs)


@functools.cache
def made_optimizers(owner: type[Optimizer]) -> tuple[str, ...]:
    """The optimizers that `setup_tree` of a class makes, by name."""
    from mlax_scaffold.spec.optimizer import Optimizer

    function = vars(owner).get("setup_tree")
    if function is None:
        return ()
    found: list[str] = []
    for node in ast.walk(parse(function)):
        match node:
            case ast.Assign(
                targets=[target], value=ast.Call(func=ast.Name(id=called))
            ) if (name := self_attribute(target)) is not None:
                made = function.__globals__.get(called)
                if isinstance(made, type) and issubclass(made, Optimizer):
                    found.append(name)
    return tuple(found)
