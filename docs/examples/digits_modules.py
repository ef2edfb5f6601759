"""Digits by a convolutional network: modules of mlax."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

import mlax.graph as bx
from mlax import functional, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State


def create(seed: int) -> tuple[State, Any, Any]:
    """The state of a run, the model, and the hyperparameters of the optimizer."""
    graph = bx.Graph("digits")
    rng = bx.Rng(graph.child("rng"))
    pool = functools.partial(
        functional.max_pool, spatial_dims=2, window=2, strides=2, channel_last=True
    )
    net = bx.Sequential(
        graph.child("net"),
        [
            bx.Conv(graph.child("first"), 2, 16, 3, channel_last=True, rng=rng),
            jax.nn.relu,
            pool,
            bx.Conv(graph.child("second"), 2, 32, 3, channel_last=True, rng=rng),
            jax.nn.relu,
            pool,
            bx.Flatten(graph.child("flat")),
            bx.Linear(graph.child("last"), 10, rng=rng),
        ],
    )
    _, params = net(rng.seed(bx.Params(), seed=seed), jnp.ones((1, 12, 12, 1)))
    trainables, rest = params.locked().split()
    optimizer = optim.Adam.init(trainables, 1e-2)
    state = train.init(trainables, rest, optimizer, jax.random.key(seed))
    return state, net, optimizer[1]


def fit(
    state: State, net: Any, adam: Any, batches: Iterable[Any], dtype: str
) -> tuple[State, list[float]]:
    """Train on batches of images and labels; what the loss was at each step."""

    @train.loss_of_params
    def loss(params: bx.Params, batch: Any, key: Any) -> Any:
        images, labels = batch
        logits, params = net(params, images.astype(dtype))
        losses = softmax_cross_entropy_with_integer_labels(
            logits.astype("float32"), labels
        )
        return functional.mean(losses), params

    losses: list[float] = []
    step = jax.jit(train.step(loss, adam), donate_argnums=0)
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return state, losses


def accuracy(state: State, net: Any, batch: Any) -> float:
    """The share of images whose digit is found."""
    images, labels = batch
    logits, _ = net(state.trainables.merge(state.non_trainables), images)
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == labels))
