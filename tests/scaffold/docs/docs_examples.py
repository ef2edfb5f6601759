"""The same weights in the programs of docs/examples."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from docs_blocks import ROOT

import mlax
from mlax_scaffold.weights import load_mapped, map_weights

EXAMPLES = ROOT / "docs" / "examples"
FORMS = ("pairs", "modules", "nnx")


def weights_of(model: Any, layer: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """A layer with the weights of a module of nnx, which they are mapped from."""
    return load_mapped(map_weights(model, layer), model, layer)


def alike(trainables: Any, weights: Any) -> Any:
    """The weights of a tree in another, in which they lie in the same order, and where they lie there."""
    given = [np.array(value) for value in mlax.flatten(weights).values()]
    there = mlax.flatten(trainables)
    placed = (
        jax.device_put(value, leaf.sharding)
        for value, leaf in zip(given, there.values(), strict=True)
    )
    return mlax.unflatten(dict(zip(there, placed, strict=True)), trainables)


def in_pairs(model: Any, state: Any, hyperparams: Any, optimizer: Any) -> Any:
    """What `create` of the pairs returned, with the weights of a module of nnx."""
    layer = state.trainables, state.non_trainables, hyperparams
    return with_weights(state, weights_of(model, layer)[0]), hyperparams, optimizer


def in_params(first: Any, state: Any, net: Any, optimizer: Any) -> Any:
    """What `create` of the modules returned, with the weights of the state of the pairs."""
    return with_weights(state, first.trainables), net, optimizer


def with_weights(state: Any, weights: Any) -> Any:
    """The state with these weights, which it begins its average with."""
    state = state._replace(trainables=alike(state.trainables, weights))
    if state.average is not None:
        state = state._replace(average=jax.tree.map(jnp.copy, state.trainables))
    return state
