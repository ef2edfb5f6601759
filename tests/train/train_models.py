"""A small model on both surfaces, with dropout and running averages, and its loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import mlax.graph as bx
from mlax import block, nn, optim, train

IN, OUT = 4, 2


def batches(count: int, size: int = 8, first: int = 0) -> Iterator[tuple[Any, Any]]:
    """Batches of inputs and targets: batch i is the same in each call."""
    for number in range(first, count):
        draws = np.random.default_rng(number)
        x = draws.normal(size=(size, IN)).astype(np.float32)
        yield x, np.stack([x.sum(-1), x.max(-1)], axis=-1)


def pairs(rate: float = 0.25) -> tuple[Any, Any, Any]:
    """A model of pairs."""
    keys = jax.random.split(jax.random.key(7), 2)
    return block.Series.init(
        [
            nn.Linear.init(keys[0], IN, 8),
            nn.BatchNorm.init(keys[0], 8),
            nn.Dropout.init(rate),
            nn.Linear.init(keys[1], 8, OUT),
        ]
    )


def loss_of(hyperparams: Any) -> Any:
    """The loss of such a model, with a metric."""

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        x, target = batch
        y, non_trainables = hyperparams.apply(x, trainables, non_trainables, key=key)
        error = y - target
        return (
            jnp.mean(error**2),
            non_trainables,
            {"largest": jnp.max(jnp.abs(error))},
        )

    return loss


def created(
    optimizer: Any = None, average: bool = False, rate: float = 0.25
) -> tuple[train.State, Any, Any]:
    """A state, what `init` of the optimizer returned, and the loss."""
    trainables, non_trainables, hyperparams = pairs(rate)
    made = (optimizer or (lambda weights: optim.Adam.init(weights, 0.01)))(trainables)
    state = train.init(
        trainables, non_trainables, made, jax.random.key(3), average=average
    )
    return state, made, loss_of(hyperparams)


def modules() -> tuple[Any, bx.Params]:
    """The same kind of model of modules, and its parameters."""
    graph = bx.Graph("net")
    rng = bx.Rng(graph.child("rng"))
    net = bx.Sequential(
        graph.child("model"),
        [
            bx.Linear(graph.child("up"), output_size=8, rng=rng),
            bx.BatchNorm(graph.child("norm")),
            bx.Dropout(graph.child("dropout"), 0.25, rng=rng),
            bx.Linear(graph.child("down"), output_size=OUT, rng=rng),
        ],
    )
    _, params = net(rng.seed(bx.Params(), seed=1), jnp.ones((8, IN)))
    return net, params.locked()


def equal(tree: Any, other: Any) -> None:
    """Assert that two trees are equal to the bit, keys too."""
    assert jax.tree.structure(tree) == jax.tree.structure(other)
    for a, b in zip(_arrays(tree), _arrays(other), strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def _arrays(tree: Any) -> list[Any]:
    return [_data(leaf) for leaf in jax.tree.leaves(tree)]


def _data(leaf: Any) -> Any:
    if hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(leaf)
    return jnp.asarray(leaf)
