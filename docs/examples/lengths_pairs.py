"""Sequences of different lengths by an LSTM: pairs of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

from mlax import block, functional, nn, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State


def last_hidden(result: Any) -> jax.Array:
    """The hidden state after the last step of each sequence."""
    _, (_, hidden) = result
    return hidden


def create(seed: int) -> tuple[State, Any, Any]:
    """The state of a run, and the hyperparameters of the model and of the optimizer."""
    keys = jax.random.split(jax.random.key(seed), 3)
    trainables, non_trainables, hyperparams = block.Series.init(
        [
            block.Recurrent.init(nn.LSTMCell.init(keys[0], 2, 16), return_carry=True),
            nn.F.init(last_hidden),
            nn.Linear.init(keys[1], 16, 2),
        ]
    )
    optimizer = optim.Adam.init(trainables, 1e-2)
    state = train.init(trainables, non_trainables, optimizer, keys[2])
    return state, hyperparams, optimizer[1]


def fit(
    state: State, hyperparams: Any, adam: Any, batches: Iterable[Any]
) -> tuple[State, list[float]]:
    """Train on batches of sequences, lengths and labels; what the loss was at each step."""

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        x, lengths, labels = batch
        logits, non_trainables = hyperparams.apply(
            x, trainables, non_trainables, lengths=lengths
        )
        losses = softmax_cross_entropy_with_integer_labels(logits, labels)
        return functional.mean(losses), non_trainables

    losses: list[float] = []
    step = jax.jit(train.step(loss, adam), donate_argnums=0)
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return state, losses


def accuracy(state: State, hyperparams: Any, batch: Any) -> float:
    """The share of sequences whose label is found."""
    x, lengths, labels = batch
    logits, _ = hyperparams.apply(
        x, state.trainables, state.non_trainables, True, lengths=lengths
    )
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == labels))
