"""What stands for an optimizer in a test: its state, and hyperparameters that are run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class ToyOptimizerState(NamedTuple):
    """State of a toy optimizer."""

    trace: Any
    """Structured like the weights, or None."""


@jax.tree_util.register_static
@dataclass(frozen=True)
class ToyOptimizerHyperparams:
    """Hyperparameters of an optimizer that uses all that it is given.

    It follows the gradients, and those at the weights that it would reach; it decays the weights, by
    the loss, and draws random signs.
    """

    decay: float = 0.5
    traced: bool = True
    """Whether it keeps a trace."""

    def initial_state(self, trainables: Any) -> ToyOptimizerState:
        """The state before the first step, for these weights."""
        zeros = jax.tree.map(jnp.zeros_like, trainables)
        return ToyOptimizerState(zeros if self.traced else None)

    def keeps_weights(self, trainables: Any) -> bool:
        """A trace is of gradients."""
        return False

    def apply(
        self,
        gradients: Any,
        state: ToyOptimizerState,
        trainables: Any,
        value: jax.Array | None = None,
        value_and_gradients: Callable[[Any], tuple[jax.Array, Any]] | None = None,
        key: jax.Array | None = None,
    ) -> tuple[Any, ToyOptimizerState]:
        """The new trace is decay * trace + gradient; with a key, some signs of the update change.

        Without a trace the update is the gradient, and what the weights and the loss add to it.
        """
        if state.trace is None:
            return self._ahead(gradients, trainables, value, value_and_gradients), state
        trace = jax.tree.map(lambda t, g: self.decay * t + g, state.trace, gradients)
        leaves, structure = jax.tree.flatten(trace)
        if key is None or not leaves:
            return trace, ToyOptimizerState(trace)
        updates = [
            jnp.where(jax.random.bits(k, u.shape, jnp.uint8) < 64, -u, u)
            for k, u in zip(jax.random.split(key, len(leaves)), leaves, strict=True)
        ]
        return structure.unflatten(updates), ToyOptimizerState(trace)

    def _ahead(
        self,
        gradients: Any,
        trainables: Any,
        value: jax.Array | None,
        value_and_gradients: Callable[[Any], tuple[jax.Array, Any]] | None,
    ) -> Any:
        if value_and_gradients is not None:
            _, gradients = value_and_gradients(
                jax.tree.map(lambda p, g: p - self.decay * g, trainables, gradients)
            )
        decayed = jax.tree.map(lambda g, p: g + self.decay * p, gradients, trainables)
        if value is None:
            return decayed
        return jax.tree.map(lambda u: u * value.astype(u.dtype), decayed)
