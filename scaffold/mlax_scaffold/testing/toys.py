"""Small layers that blocks are tested with: they have weights, state and randomness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

WIDTH = 4
"""Size of the last axis of the inputs and the outputs of a toy."""

Initialized = tuple[Any, Any, Any]


class ToyTrainables(NamedTuple):
    """Weights of a toy."""

    kernel: jax.Array
    """(WIDTH, WIDTH)."""


class ToyNonTrainables(NamedTuple):
    """State of a toy."""

    largest: jax.Array
    """Scalar: the largest output that training has seen."""


@jax.tree_util.register_static
@dataclass(frozen=True)
class ToyHyperparams:
    """Hyperparameters of a layer that maps (*batch, WIDTH) to (*batch, WIDTH)."""

    scale: float = 0.5
    keyword_inputs: ClassVar[tuple[str, ...]] = ("shift",)

    def apply(
        self,
        x: jax.Array,
        trainables: ToyTrainables,
        non_trainables: ToyNonTrainables,
        inference_mode: bool = False,
        key: jax.Array | None = None,
        shift: jax.Array | None = None,
    ) -> tuple[jax.Array, ToyNonTrainables]:
        """A product, shifted; in training, state that follows it, and signs drawn with the key."""
        y = self.scale * jnp.dot(x, trainables.kernel.astype(x.dtype))
        if shift is not None:
            y = y + shift
        if not inference_mode:
            top = jnp.max(jax.lax.stop_gradient(y), initial=-jnp.inf)
            stored = non_trainables.largest
            largest = jnp.maximum(stored.astype(x.dtype), top).astype(stored.dtype)
            non_trainables = ToyNonTrainables(largest)
            if key is not None:
                bits = jax.random.bits(key, y.shape, jnp.uint8)
                y = jnp.where(bits < 64, -y, y)
        return y, non_trainables

    def outline(self) -> Initialized:
        """An initialized layer, with shapes in the place of arrays."""
        return jax.eval_shape(lambda: layer(jax.random.key(0), None))


@jax.tree_util.register_static
@dataclass(frozen=True)
class ToyCellHyperparams:
    """Hyperparameters of a recurrent cell of that layer."""

    inner: ToyHyperparams = ToyHyperparams()
    keyword_inputs: ClassVar[tuple[str, ...]] = ToyHyperparams.keyword_inputs

    def apply(
        self,
        x: tuple[jax.Array, jax.Array],
        trainables: ToyTrainables,
        non_trainables: ToyNonTrainables,
        inference_mode: bool = False,
        key: jax.Array | None = None,
        shift: jax.Array | None = None,
    ) -> tuple[tuple[jax.Array, jax.Array], ToyNonTrainables]:
        """Carry' = tanh(inputs + layer(carry)); the output is (carry', carry')."""
        inputs, carry = x
        y, non_trainables = self.inner.apply(
            carry, trainables, non_trainables, inference_mode, key, shift
        )
        carry = jnp.tanh(inputs + y)
        return (carry, carry), non_trainables

    def initial_carry(self, input_shape: tuple[int, ...], dtype: Any) -> jax.Array:
        """The carry before the first step: zeros."""
        return jnp.zeros((*input_shape[:-1], WIDTH), dtype)

    def outline(self) -> Initialized:
        """An initialized cell, with shapes in the place of arrays."""
        return self.inner.outline()


def layer(key: jax.Array, dtype: Any) -> Initialized:
    """An initialized layer."""
    kernel = jax.random.normal(key, (WIDTH, WIDTH), dtype or jnp.float32)
    state = ToyNonTrainables(jnp.zeros((), dtype or jnp.float32))
    return ToyTrainables(kernel), state, ToyHyperparams()


def cell(key: jax.Array, dtype: Any) -> Initialized:
    """An initialized recurrent cell."""
    trainables, state, hyperparams = layer(key, dtype)
    return trainables, state, ToyCellHyperparams(hyperparams)


def layers(key: jax.Array, dtype: Any, count: int) -> list[Initialized]:
    """Several initialized layers."""
    return [layer(k, dtype) for k in jax.random.split(key, count)]


def stacked(key: jax.Array, dtype: Any, depth: int) -> Initialized:
    """Initialized layers with their weights stacked along the first axis."""
    init: Callable[[jax.Array], Initialized] = lambda k: layer(k, dtype)  # noqa: E731
    return jax.vmap(init)(jax.random.split(key, depth))


def module(base: Any, node: Any, rng: Any, make: Callable[..., Initialized]) -> Any:
    """The module of a toy; `base` is the class of the modules of layers."""

    class Toy(base):
        functions = _Functions
        declarations: ClassVar[dict[str, None]] = {"kernel": None, "largest": None}
        draws_keys = True
        keyword_inputs = ToyHyperparams.keyword_inputs

        def init(self, key: Any, **sizes: int) -> Initialized:
            return make(key[0] if isinstance(key, list) else key, None)

    return Toy(node, rng=rng)


def modules(base: Any, node: Any, rng: Any, count: int) -> list[Any]:
    """Several modules of toys."""
    return [module(base, node.child(f"layer_{i}"), rng, layer) for i in range(count)]


class _Functions:
    """What the module of a layer is a class around."""

    @staticmethod
    def fwd(
        x: Any,
        trainables: Any,
        non_trainables: Any,
        hyperparams: Any,
        inference_mode: bool = False,
        key: jax.Array | None = None,
        **inputs: Any,
    ) -> tuple[Any, Any]:
        return hyperparams.apply(
            x, trainables, non_trainables, inference_mode, key, **inputs
        )


class ToyOptimizerState(NamedTuple):
    """State of a toy optimizer."""

    trace: Any
    """Structured like the weights, or None."""


@jax.tree_util.register_static
@dataclass(frozen=True)
class ToyOptimizerHyperparams:
    """Hyperparameters of an optimizer that follows the gradients, with random signs."""

    decay: float = 0.5

    def apply(
        self,
        gradients: Any,
        state: ToyOptimizerState,
        trainables: Any,
        key: jax.Array | None = None,
        **inputs: Any,
    ) -> tuple[Any, ToyOptimizerState]:
        """The new trace is decay * trace + gradient; with a key, some signs of the update change.

        Without a trace the update is the gradient.
        """
        if state.trace is None:
            return gradients, state
        trace = jax.tree.map(lambda t, g: self.decay * t + g, state.trace, gradients)
        leaves, structure = jax.tree.flatten(trace)
        if key is None or not leaves:
            return trace, ToyOptimizerState(trace)
        updates = [
            jnp.where(jax.random.bits(k, u.shape, jnp.uint8) < 64, -u, u)
            for k, u in zip(jax.random.split(key, len(leaves)), leaves, strict=True)
        ]
        return structure.unflatten(updates), ToyOptimizerState(trace)


def optimizers(trainables: Any, count: int) -> list[tuple[Any, Any]]:
    """Several initialized optimizers."""
    state = ToyOptimizerState(jax.tree.map(jnp.zeros_like, trainables))
    return [(state, ToyOptimizerHyperparams(0.5 / (i + 1))) for i in range(count)]


def optimizer(trainables: Any, traced: bool = True) -> tuple[Any, Any]:
    """One initialized optimizer, with a trace or without."""
    [(state, hyperparams)] = optimizers(trainables, 1)
    return (state if traced else ToyOptimizerState(None)), hyperparams
