"""Digits in float16 with loss scaling, by groups of weights, whose average is kept: pairs of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

from mlax import block, functional, nn, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State


def group(path: str, weight: jax.Array) -> str:
    """The optimizer of a weight."""
    return "kernels" if weight.ndim == 2 else "biases"


def create(seed: int) -> tuple[State, Any, Any]:
    """The state of a run, and the hyperparameters of the model and of the optimizer."""
    keys = jax.random.split(jax.random.key(seed), 3)
    trainables, non_trainables, hyperparams = block.Series.init(
        [
            nn.Flatten.init(),
            nn.Linear.init(keys[0], 144, 64),
            nn.F.init(jax.nn.relu),
            nn.Linear.init(keys[1], 64, 10),
        ]
    )
    groups = {
        "kernels": optim.AdamW.init(trainables, 1e-2),
        "biases": optim.Sgd.init(trainables, 1e-1),
    }
    optimizer = optim.DynamicLossScaling.init(
        optim.partition(trainables, groups, group)
    )
    state = train.init(trainables, non_trainables, optimizer, keys[2], average=True)
    return state, hyperparams, optimizer[1]


def fit(
    state: State, hyperparams: Any, optimizer: Any, batches: Iterable[Any]
) -> tuple[State, list[float]]:
    """Train on batches of images and labels; what the loss was at each step."""

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        images, labels = batch
        logits, non_trainables = hyperparams.apply(
            images.astype("float16"), trainables, non_trainables
        )
        losses = softmax_cross_entropy_with_integer_labels(
            logits.astype("float32"), labels
        )
        return functional.mean(losses), non_trainables

    losses: list[float] = []
    step = train.step(loss, optimizer, micro_batches=4, average_decay=0.9)
    step = jax.jit(step, donate_argnums=0)
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return state, losses


def accuracy(state: State, hyperparams: Any, batch: Any) -> float:
    """The share of images whose digit the average of the weights finds."""
    images, labels = batch
    logits, _ = hyperparams.apply(
        images, train.averaged(state), state.non_trainables, True
    )
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == labels))
