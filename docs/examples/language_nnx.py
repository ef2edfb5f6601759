"""A character language model that continues a text: flax nnx and optax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Block(nnx.Module):
    """Attention and a network, each after a norm and beside its input."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.attention_norm = nnx.LayerNorm(32, epsilon=1e-5, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, 32, decode=False, rngs=rngs)
        self.network_norm = nnx.LayerNorm(32, epsilon=1e-5, rngs=rngs)
        self.up = nnx.Linear(32, 64, rngs=rngs)
        self.down = nnx.Linear(64, 32, rngs=rngs)

    def __call__(self, x: jax.Array, decode: bool) -> jax.Array:
        """Floating (batch, positions, 32)."""
        mask = None if decode else nnx.make_causal_mask(x[..., 0])
        x = x + self.attention(self.attention_norm(x), mask=mask, decode=decode)
        hidden = nnx.gelu(self.up(self.network_norm(x)), approximate=False)
        return x + self.down(hidden)


class Model(nnx.Module):
    """Logits of the character after each."""

    def __init__(self, characters: int, rngs: nnx.Rngs) -> None:
        self.embed = nnx.Embed(characters, 32, rngs=rngs)
        self.blocks = nnx.List([Block(rngs), Block(rngs)])
        self.norm = nnx.LayerNorm(32, epsilon=1e-5, rngs=rngs)
        self.last = nnx.Linear(32, characters, rngs=rngs)

    def __call__(self, x: jax.Array, decode: bool = False) -> jax.Array:
        """Floating (batch, positions, characters)."""
        x = self.embed(x)
        for block in self.blocks:
            x = block(x, decode)
        return self.last(self.norm(x))


def fit(model: Model, batches: Iterable[Any]) -> list[float]:
    """Train on batches of characters and those after them; what the loss was at each step."""
    optimizer = nnx.Optimizer(model, optax.adamw(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(model: Model, optimizer: nnx.Optimizer, batch: Any) -> jax.Array:
        def loss(model: Model) -> jax.Array:
            given, after = batch
            logits = model(given)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, after)
            return jnp.mean(losses)

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    losses: list[float] = []
    for batch in batches:
        value = step(model, optimizer, batch)
        losses.append(float(value))
    return losses


def write(model: Model, prompt: jax.Array, length: int) -> jax.Array:
    """The most probable characters (1, length) that follow a prompt (1, positions)."""
    for block in model.blocks:
        block.attention.init_cache((1, prompt.shape[1] + length, 32))

    @nnx.jit
    def step(model: Model, token: jax.Array) -> jax.Array:
        return jnp.argmax(model(token, decode=True), axis=-1)

    # The cache takes one position at a time.
    for position in range(prompt.shape[1]):
        token = step(model, prompt[:, position : position + 1])
    tokens = [token]
    for _ in range(length - 1):
        tokens.append(step(model, tokens[-1]))
    return jnp.concatenate(tokens, axis=1)
