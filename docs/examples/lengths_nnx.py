"""Sequences of different lengths by an LSTM: flax nnx and optax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    """An LSTM, and a linear map of its last hidden state."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        cell = nnx.OptimizedLSTMCell(2, 16, rngs=rngs)
        self.lstm = nnx.RNN(cell, return_carry=True)
        self.last = nnx.Linear(16, 2, rngs=rngs)

    def __call__(self, x: jax.Array, lengths: jax.Array) -> jax.Array:
        """Logits (batch, 2) of sequences (batch, time, 2)."""
        (_, hidden), _ = self.lstm(x, seq_lengths=lengths)
        return self.last(hidden)


def create(seed: int) -> tuple[Net, nnx.Optimizer]:
    """The model and its optimizer."""
    model = Net(nnx.Rngs(seed))
    return model, nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)


def fit(model: Net, optimizer: nnx.Optimizer, batches: Iterable[Any]) -> list[float]:
    """Train on batches of sequences, lengths and labels; what the loss was at each step."""

    @nnx.jit
    def step(model: Net, optimizer: nnx.Optimizer, batch: Any) -> jax.Array:
        def loss(model: Net) -> jax.Array:
            x, lengths, labels = batch
            logits = model(x, lengths)
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
    """The share of sequences whose label is found."""
    x, lengths, labels = batch
    logits = model(x, lengths)
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == labels))
