"""Digits in runs that end and go on exactly, dropout included: modules of mlax."""

from __future__ import annotations

import functools
from itertools import islice
from pathlib import Path
from typing import Any

import data
import jax
import jax.numpy as jnp

import mlax.graph as bx
from mlax import functional, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State


def create(seed: int, rate: float) -> tuple[State, Any, Any]:
    """The state of a run, the model, and the hyperparameters of the optimizer."""
    graph = bx.Graph("resume")
    rng = bx.Rng(graph.child("rng"))
    net = bx.Sequential(
        graph.child("net"),
        [
            bx.Flatten(graph.child("flat")),
            bx.Linear(graph.child("first"), 64, rng=rng),
            jax.nn.relu,
            bx.Dropout(graph.child("dropout"), rate, rng=rng),
            bx.Linear(graph.child("last"), 10, rng=rng),
        ],
    )
    _, params = net(rng.seed(bx.Params(), seed=seed), jnp.ones((1, 12, 12, 1)))
    trainables, rest = params.locked().split()
    optimizer = optim.Adam.init(trainables, 1e-2)
    state = train.init(trainables, rest, optimizer, jax.random.key(seed))
    return state, net, optimizer[1]


def fit(
    state: State, net: Any, adam: Any, folder: Path, steps: int
) -> tuple[State, list[float]]:
    """Train until a step, from the latest checkpoint on; what the loss was at each step."""

    @train.loss_of_params
    def loss(params: bx.Params, batch: Any, key: Any) -> Any:
        images, labels = batch
        logits, params = net(params, images)
        losses = softmax_cross_entropy_with_integer_labels(logits, labels)
        return functional.mean(losses), params

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
