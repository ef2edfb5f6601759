"""Digits in runs that end and go on exactly, dropout included: flax nnx, optax and orbax."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import data
import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp
from flax import nnx


class Net(nnx.Module):
    """Two linear maps."""

    def __init__(self, rate: float, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(144, 64, rngs=rngs)
        self.dropout = nnx.Dropout(rate, rngs=rngs)
        self.last = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Logits (batch, 10) of images (batch, 12, 12, 1)."""
        x = nnx.relu(self.first(x.reshape(x.shape[0], -1)))
        return self.last(self.dropout(x))


def create(seed: int, rate: float) -> tuple[Net, nnx.Optimizer]:
    """The model and its optimizer."""
    model = Net(rate, nnx.Rngs(seed))
    return model, nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)


def fit(model: Net, optimizer: nnx.Optimizer, folder: Path, steps: int) -> list[float]:
    """Train until a step, from the latest checkpoint on; what the loss was at each step."""

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
    options = ocp.CheckpointManagerOptions(save_interval_steps=10, max_to_keep=2)
    with ocp.CheckpointManager(folder, options=options) as manager:
        number = manager.latest_step() or 0
        if number:
            like = ocp.args.StandardRestore(nnx.state((model, optimizer)))
            nnx.update((model, optimizer), manager.restore(number, args=like))
        for batch in islice(data.digits(steps), number, None):
            value = step(model, optimizer, batch)
            losses.append(float(value))
            number += 1
            state = nnx.state((model, optimizer))
            manager.save(number, args=ocp.args.StandardSave(state))
    return losses
