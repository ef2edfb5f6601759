"""A trained language model that learns another text by maps of low rank: flax nnx and optax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx


def adapted(model: Any, seed: int) -> Any:
    """The model with a map of low rank beside each map of its feed-forward networks."""
    rngs = nnx.Rngs(seed)
    for block in model.blocks:
        block.up = nnx.LoRA(32, 4, 64, base_module=block.up, rngs=rngs)
        block.down = nnx.LoRA(64, 4, 32, base_module=block.down, rngs=rngs)
    return model


def fit(model: Any, batches: Iterable[Any]) -> list[float]:
    """Train what was added; what the loss was at each step."""
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.LoRAParam)

    @nnx.jit
    def step(model: Any, optimizer: nnx.Optimizer, batch: Any) -> jax.Array:
        def loss(model: Any) -> jax.Array:
            given, after = batch
            logits = model(given)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, after)
            return jnp.mean(losses)

        chosen = nnx.DiffState(0, nnx.LoRAParam)
        value, gradients = nnx.value_and_grad(loss, argnums=chosen)(model)
        optimizer.update(model, gradients)
        return value

    losses: list[float] = []
    for batch in batches:
        value = step(model, optimizer, batch)
        losses.append(float(value))
    return losses
