"""What is compared: the same four models, whoever wrote them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Apply = Callable[[Any, Any, jax.Array], tuple[jax.Array, Any]]


@dataclass(frozen=True)
class Model:
    """A model as a pure function of its weights and its state.

    `apply(trainables, state, x)` runs it in training mode and returns `(y, state)`.
    """

    trainables: Any
    state: Any
    apply: Apply

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(np.size(leaf) for leaf in jax.tree.leaves(self.trainables))


@dataclass(frozen=True)
class Sizes:
    """Sizes of the four models: those of the benchmark, or tiny ones for tests."""

    batch: int = 32
    features: int = 512
    depth: int = 3
    image: int = 32
    channels: tuple[int, ...] = (32, 64, 128)
    sequence: int = 128
    width: int = 256
    heads: int = 8
    layers: int = 2
    steps: int = 64
    hidden: int = 128

    def input(self, name: str) -> jax.Array:
        """The input of the model of that name."""
        shape = {
            "mlp": (self.batch * 4, self.features),
            "cnn": (self.batch // 2, self.image, self.image, 3),
            "encoder": (self.batch // 4, self.sequence, self.width),
            "lstm": (self.batch, self.steps, self.hidden),
        }[name]
        return jax.random.normal(jax.random.key(7), shape)


TINY = Sizes(
    batch=4,
    features=8,
    depth=2,
    image=8,
    channels=(4, 8),
    sequence=6,
    width=8,
    heads=2,
    layers=2,
    steps=5,
    hidden=8,
)


def forward(model: Model) -> Callable[..., Any]:
    """The forward pass, as a function of (trainables, state, x)."""
    return lambda trainables, state, x: model.apply(trainables, state, x)[0]


def step(model: Model) -> Callable[..., Any]:
    """A step of gradient descent, as a function of (trainables, state, x)."""

    def loss(trainables: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        y, state = model.apply(trainables, state, x)
        return jnp.mean(jnp.square(y)), state

    def descend(trainables: Any, state: Any, x: jax.Array) -> tuple[Any, Any]:
        gradients, state = jax.grad(loss, has_aux=True)(trainables, state, x)
        moved = jax.tree.map(lambda w, g: w - 0.01 * g, trainables, gradients)
        return moved, state

    return descend
