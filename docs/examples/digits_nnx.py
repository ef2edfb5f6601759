"""Digits by a convolutional network: flax nnx and optax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    """Two convolutions and a linear map."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Conv(1, 16, (3, 3), rngs=rngs)
        self.second = nnx.Conv(16, 32, (3, 3), rngs=rngs)
        self.last = nnx.Linear(288, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Logits (batch, 10) of images (batch, 12, 12, 1)."""
        x = nnx.max_pool(nnx.relu(self.first(x)), (2, 2), (2, 2))
        x = nnx.max_pool(nnx.relu(self.second(x)), (2, 2), (2, 2))
        return self.last(x.reshape(x.shape[0], -1))


def create(seed: int) -> tuple[Net, nnx.Optimizer]:
    """The model and its optimizer."""
    model = Net(nnx.Rngs(seed))
    return model, nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)


def fit(
    model: Net, optimizer: nnx.Optimizer, batches: Iterable[Any], dtype: str
) -> list[float]:
    """Train on batches of images and labels; what the loss was at each step."""
    for layer in (model.first, model.second, model.last):
        layer.dtype = jnp.dtype(dtype)

    @nnx.jit
    def step(model: Net, optimizer: nnx.Optimizer, batch: Any) -> jax.Array:
        def loss(model: Net) -> jax.Array:
            images, labels = batch
            logits = model(images.astype(dtype)).astype("float32")
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            return jnp.mean(losses)

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    losses: list[float] = []
    for batch in batches:
        value = step(model, optimizer, batch)
        losses.append(float(value))
    return losses


def accuracy(model: Net, batch: Any) -> float:
    """The share of images whose digit is found."""
    images, labels = batch
    logits = model(images)
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == labels))
