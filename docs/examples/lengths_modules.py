"""Sequences of different lengths by an LSTM: modules of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

import mlax.graph as bx
from mlax import functional, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State


def last_hidden(result: Any) -> jax.Array:
    """The hidden state after the last step of each sequence."""
    _, (_, hidden) = result
    return hidden


def create(seed: int) -> tuple[State, Any, Any]:
    """The state of a run, the model, and the hyperparameters of the optimizer."""
    graph = bx.Graph("lengths")
    rng = bx.Rng(graph.child("rng"))
    cell = bx.LSTM(graph.child("cell"), 16, rng=rng)
    net = bx.Sequential(
        graph.child("net"),
        [
            bx.Recurrent(graph.child("lstm"), cell, return_carry=True),
            last_hidden,
            bx.Linear(graph.child("last"), 2, rng=rng),
        ],
    )
    _, params = net(rng.seed(bx.Params(), seed=seed), jnp.ones((1, 20, 2)))
    trainables, rest = params.locked().split()
    optimizer = optim.Adam.init(trainables, 1e-2)
    state = train.init(trainables, rest, optimizer, jax.random.key(seed))
    return state, net, optimizer[1]


def fit(
    state: State, net: Any, adam: Any, batches: Iterable[Any]
) -> tuple[State, list[float]]:
    """Train on batches of sequences, lengths and labels; what the loss was at each step."""

    @train.loss_of_params
    def loss(params: bx.Params, batch: Any, key: Any) -> Any:
        x, lengths, labels = batch
        logits, params = net(params, x, lengths=lengths)
        losses = softmax_cross_entropy_with_integer_labels(logits, labels)
        return functional.mean(losses), params

    losses: list[float] = []
    step = jax.jit(train.step(loss, adam), donate_argnums=0)
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return state, losses


def accuracy(state: State, net: Any, batch: Any) -> float:
    """The share of sequences whose label is found."""
    x, lengths, labels = batch
    logits, _ = net(state.trainables.merge(state.non_trainables), x, lengths=lengths)
    return float(jnp.mean(jnp.argmax(logits, axis=-1) == labels))
