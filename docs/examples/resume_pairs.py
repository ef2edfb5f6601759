"""Digits in runs that end and go on exactly, dropout included: pairs of mlax."""

from __future__ import annotations

import functools
from itertools import islice
from pathlib import Path
from typing import Any

import data
import jax

from mlax import block, functional, nn, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State


def create(seed: int, rate: float) -> tuple[State, Any, Any]:
    """The state of a run, and the hyperparameters of the model and of the optimizer."""
    keys = jax.random.split(jax.random.key(seed), 3)
    trainables, non_trainables, hyperparams = block.Series.init(
        [
            nn.Flatten.init(),
            nn.Linear.init(keys[0], 144, 64),
            nn.F.init(jax.nn.relu),
            nn.Dropout.init(rate),
            nn.Linear.init(keys[1], 64, 10),
        ]
    )
    optimizer = optim.Adam.init(trainables, 1e-2)
    state = train.init(trainables, non_trainables, optimizer, keys[2])
    return state, hyperparams, optimizer[1]


def fit(
    state: State, hyperparams: Any, adam: Any, folder: Path, steps: int
) -> tuple[State, list[float]]:
    """Train until a step, from the latest checkpoint on; what the loss was at each step."""

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        images, labels = batch
        logits, non_trainables = hyperparams.apply(
            images, trainables, non_trainables, key=key
        )
        losses = softmax_cross_entropy_with_integer_labels(logits, labels)
        return functional.mean(losses), non_trainables

    if train.latest(folder):
        state = train.restore(folder, state)
    losses: list[float] = []
    state = train.run(
        jax.jit(train.step(loss, adam), donate_argnums=0),
        state,
        islice(data.digits(steps), int(state.step), None),
        log=lambda _, measured: losses.append(measured["loss"]),
        log_every=1,
        every=[(10, functools.partial(train.save, folder, keep=2))],
    )
    return state, losses
