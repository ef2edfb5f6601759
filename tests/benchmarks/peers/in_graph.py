"""The MLP in modules of mlax, which is measured where nothing is compiled."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from tests.benchmarks.peers.model import Model, Sizes

import mlax.graph as bx


def mlp(sizes: Sizes) -> Model:
    """Linear layers with relu between them."""
    graph = bx.Graph("mlp")
    rng, place = bx.Rng(graph.child("rng")), graph.child("net")
    layers: list[Any] = []
    for i in range(sizes.depth):
        layers += [bx.Linear(place.child(f"{i}"), sizes.features, rng=rng), jax.nn.relu]
    net = bx.Sequential(place, layers[:-1])
    _, params = net(rng.seed(bx.Params(), seed=0), jnp.zeros((1, sizes.features)))

    def apply(params: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        return net(params, x)[0], state

    return Model(params.locked(), None, apply)
