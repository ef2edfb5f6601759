"""Digits in float16 with loss scaling, by groups of weights, whose average is kept: flax nnx and optax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from flax.training.dynamic_scale import DynamicScale


class Net(nnx.Module):
    """Two linear maps."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(144, 64, dtype=jnp.float16, rngs=rngs)
        self.last = nnx.Linear(64, 10, dtype=jnp.float16, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Logits (batch, 10) of images (batch, 12, 12, 1)."""
        return self.last(nnx.relu(self.first(x.reshape(x.shape[0], -1))))


def fit(model: Net, batches: Iterable[Any]) -> tuple[Net, list[float]]:
    """Train on batches of images and labels; the average, and what the loss was at each step."""
    graph, params = nnx.split(model)
    labels = jax.tree.map(lambda w: "kernels" if w.ndim == 2 else "biases", params)
    optimizer = optax.MultiSteps(
        optax.multi_transform(
            {"kernels": optax.adamw(1e-2), "biases": optax.sgd(1e-1)}, labels
        ),
        every_k_schedule=4,
        should_skip_update_fn=optax.skip_not_finite,
    )

    @jax.jit
    def step(carry: Any, batch: Any) -> Any:
        params, state, average, scale = carry
        values = []
        for images, labels in zip(*(jnp.split(part, 4) for part in batch), strict=True):

            def loss(params: Any, images: Any = images, labels: Any = labels) -> Any:
                logits = nnx.merge(graph, params)(images).astype("float32")
                losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
                return jnp.mean(losses)

            scale, _, value, gradients = scale.value_and_grad(loss)(params)
            updates, state = optimizer.update(gradients, state, params)
            params = optax.apply_updates(params, updates)
            values.append(value)
        average = optax.incremental_update(params, average, 0.1)
        return (params, state, average, scale), jnp.mean(jnp.array(values))

    losses: list[float] = []
    carry = params, optimizer.init(params), params, DynamicScale(scale=2.0**15)
    for batch in batches:
        carry, value = step(carry, batch)
        losses.append(float(value))
    return nnx.merge(graph, carry[2]), losses


def accuracy(model: Net, batch: Any) -> float:
    """The share of images whose digit is found."""
    images, labels = batch
    logits = model(images)
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == labels))
