"""Digits on a grid of devices, over which batches, weights and moments are spread: modules of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import mlax.graph as bx
from mlax import functional, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State

RULES = [
    ("first/kernel$", P("data", "model")),
    ("last/kernel$", P("model", "data")),
    (".*", P()),
]


def create(seed: int, mesh: Mesh) -> tuple[State, Any, Any]:
    """The state of a run, where its parts lie; the model; hyperparameters of the optimizer."""
    graph = bx.Graph("devices")
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

    def init() -> tuple[State, Any]:
        _, params = net(rng.seed(bx.Params(), seed=seed), jnp.ones((1, 12, 12, 1)))
        trainables, rest = params.locked().split()
        optimizer = optim.Adam.init(trainables, 1e-2)
        state = train.init(trainables, rest, optimizer, jax.random.key(seed))
        return state, optimizer[1]

    shapes, adam = jax.eval_shape(init)
    placed = train.shardings(shapes, mesh, RULES)
    return jax.jit(lambda: init()[0], out_shardings=placed)(), net, adam


def fit(
    state: State, net: Any, adam: Any, mesh: Mesh, batches: Iterable[Any]
) -> tuple[State, list[float]]:
    """Train on batches of images and labels; what the loss was at each step."""

    @train.loss_of_params
    def loss(params: bx.Params, batch: Any, key: Any) -> Any:
        images, labels = batch
        logits, params = net(params, images)
        losses = softmax_cross_entropy_with_integer_labels(logits, labels)
        return functional.mean(losses), params

    losses: list[float] = []
    placed = train.shardings(state, mesh, RULES)
    step = train.step(loss, adam)
    step = jax.jit(step, donate_argnums=0, out_shardings=(placed, None))
    spread = NamedSharding(mesh, P("data"))
    for batch in batches:
        state, measured = step(state, jax.device_put(batch, spread))
        losses.append(float(measured["loss"]))
    return state, losses
