"""Digits on a grid of devices, over which batches, weights and moments are spread: flax nnx and optax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


class Net(nnx.Module):
    """Two linear maps."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        initializer = nnx.initializers.lecun_normal()
        first = nnx.with_partitioning(initializer, ("data", "model"))
        last = nnx.with_partitioning(initializer, ("model", "data"))
        self.first = nnx.Linear(144, 64, kernel_init=first, rngs=rngs)
        self.last = nnx.Linear(64, 10, kernel_init=last, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Logits (batch, 10) of images (batch, 12, 12, 1)."""
        return self.last(nnx.relu(self.first(x.reshape(x.shape[0], -1))))


def create(seed: int, mesh: Mesh) -> tuple[Net, nnx.Optimizer]:
    """The model and its optimizer, on the devices where each part lies."""

    @nnx.jit
    def init() -> tuple[Net, nnx.Optimizer]:
        model = Net(nnx.Rngs(seed))
        optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
        state = nnx.state((model, optimizer))
        specs = nnx.get_partition_spec(state)
        placed = jax.lax.with_sharding_constraint(state, specs)
        nnx.update((model, optimizer), placed)
        return model, optimizer

    with jax.set_mesh(mesh):
        return init()


def fit(
    model: Net, optimizer: nnx.Optimizer, mesh: Mesh, batches: Iterable[Any]
) -> list[float]:
    """Train on batches of images and labels; what the loss was at each step."""

    @nnx.jit
    def step(model: Net, optimizer: nnx.Optimizer, batch: Any) -> jax.Array:
        def loss(model: Net) -> jax.Array:
            images, labels = batch
            logits = model(images)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            return jnp.mean(losses)

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    losses: list[float] = []
    spread = NamedSharding(mesh, P("data"))
    with jax.set_mesh(mesh):
        for batch in batches:
            value = step(model, optimizer, jax.device_put(batch, spread))
            losses.append(float(value))
    return losses
