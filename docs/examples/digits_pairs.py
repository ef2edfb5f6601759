"""Digits by a convolutional network: pairs of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

from mlax import block, functional, nn, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State


def create(seed: int) -> tuple[State, Any, Any]:
    """The state of a run, and the hyperparameters of the model and of the optimizer."""
    keys = jax.random.split(jax.random.key(seed), 3)
    trainables, non_trainables, hyperparams = block.Series.init(
        [
            nn.Conv.init(keys[0], 2, 1, 16, 3, channel_last=True),
            nn.F.init(jax.nn.relu),
            nn.MaxPool.init(2, 2, 2, channel_last=True),
            nn.Conv.init(keys[1], 2, 16, 32, 3, channel_last=True),
            nn.F.init(jax.nn.relu),
            nn.MaxPool.init(2, 2, 2, channel_last=True),
            nn.Flatten.init(),
            nn.Linear.init(keys[2], 288, 10),
        ]
    )
    optimizer = optim.Adam.init(trainables, 1e-2)
    state = train.init(trainables, non_trainables, optimizer, keys[0])
    return state, hyperparams, optimizer[1]


def fit(
    state: State, hyperparams: Any, adam: Any, batches: Iterable[Any], dtype: str
) -> tuple[State, list[float]]:
    """Train on batches of images and labels; what the loss was at each step."""

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        images, labels = batch
        logits, non_trainables = hyperparams.apply(
            images.astype(dtype), trainables, non_trainables
        )
        losses = softmax_cross_entropy_with_integer_labels(
            logits.astype("float32"), labels
        )
        return functional.mean(losses), non_trainables

    losses: list[float] = []
    step = jax.jit(train.step(loss, adam), donate_argnums=0)
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return state, losses


def accuracy(state: State, hyperparams: Any, batch: Any) -> float:
    """The share of images whose digit is found."""
    images, labels = batch
    logits, _ = hyperparams.apply(images, state.trainables, state.non_trainables, True)
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == labels))
