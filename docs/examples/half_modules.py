"""Digits in float16 with loss scaling, by groups of weights, whose average is kept: modules of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

import mlax.graph as bx
from mlax import functional, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State


def group(path: str, weight: jax.Array) -> str:
    """The optimizer of a weight."""
    return "kernels" if weight.ndim == 2 else "biases"


def create(seed: int) -> tuple[State, Any, Any]:
    """The state of a run, the model, and the hyperparameters of the optimizer."""
    graph = bx.Graph("half")
    rng = bx.Rng(graph.child("rng"))
    net = bx.Sequential(
        graph.child("net"),
        [
            bx.Flatten(graph.child("flat")),
            bx.Linear(graph.child("first"), 64, rng=rng),
            jax.nn.relu,
            bx.Linear(graph.child("last"), 10, rng=rng),
        ],
    )
    _, params = net(rng.seed(bx.Params(), seed=seed), jnp.ones((1, 12, 12, 1)))
    trainables, rest = params.locked().split()
    groups = {
        "kernels": optim.AdamW.init(trainables, 1e-2),
        "biases": optim.Sgd.init(trainables, 1e-1),
    }
    optimizer = optim.DynamicLossScaling.init(
        optim.partition(trainables, groups, group)
    )
    state = train.init(trainables, rest, optimizer, jax.random.key(seed), average=True)
    return state, net, optimizer[1]


def fit(
    state: State, net: Any, optimizer: Any, batches: Iterable[Any]
) -> tuple[State, list[float]]:
    """Train on batches of images and labels; what the loss was at each step."""

    @train.loss_of_params
    def loss(params: bx.Params, batch: Any, key: Any) -> Any:
        images, labels = batch
        logits, params = net(params, images.astype("float16"))
        losses = softmax_cross_entropy_with_integer_labels(
            logits.astype("float32"), labels
        )
        return functional.mean(losses), params

    losses: list[float] = []
    step = train.step(loss, optimizer, micro_batches=4, average_decay=0.9)
    step = jax.jit(step, donate_argnums=0)
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return state, losses


def accuracy(state: State, net: Any, batch: Any) -> float:
    """The share of images whose digit the average of the weights finds."""
    images, labels = batch
    logits, _ = net(train.averaged(state).merge(state.non_trainables), images)
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == labels))
