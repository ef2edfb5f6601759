"""Digits on a grid of devices, over which batches, weights and moments are spread: pairs of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from mlax import block, functional, nn, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels

State = train.State

RULES = [
    ("layers/1/kernel$", P("data", "model")),
    ("layers/3/kernel$", P("model", "data")),
    (".*", P()),
]


def init(seed: int) -> tuple[State, Any, Any]:
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
    optimizer = optim.Adam.init(trainables, 1e-2)
    state = train.init(trainables, non_trainables, optimizer, keys[2])
    return state, hyperparams, optimizer[1]


def create(seed: int, mesh: Mesh) -> tuple[State, Any, Any]:
    """The same, created on the devices where each part lies."""
    shapes, hyperparams, adam = jax.eval_shape(init, seed)
    placed = train.shardings(shapes, mesh, RULES)
    state = jax.jit(lambda: init(seed)[0], out_shardings=placed)()
    return state, hyperparams, adam


def fit(
    state: State, hyperparams: Any, adam: Any, mesh: Mesh, batches: Iterable[Any]
) -> tuple[State, list[float]]:
    """Train on batches of images and labels; what the loss was at each step."""

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        images, labels = batch
        logits, non_trainables = hyperparams.apply(images, trainables, non_trainables)
        losses = softmax_cross_entropy_with_integer_labels(logits, labels)
        return functional.mean(losses), non_trainables

    losses: list[float] = []
    placed = train.shardings(state, mesh, RULES)
    step = train.step(loss, adam)
    step = jax.jit(step, donate_argnums=0, out_shardings=(placed, None))
    spread = NamedSharding(mesh, P("data"))
    for batch in batches:
        state, measured = step(state, jax.device_put(batch, spread))
        losses.append(float(measured["loss"]))
    return state, losses
