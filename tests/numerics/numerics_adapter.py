"""How the numerical tests call the library: the one place that knows its interface.

Everything is a pure function of explicit arrays, as in the generated library, and runs
on the eager specs. The library runs without implicit promotion of dtypes; the peers that
it is compared with do not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax

import mlax_scaffold
from mlax_scaffold.spec.loading import load

_SPECS = Path(mlax_scaffold.__file__).parent / "specs"


def apply_layer(
    place: str,
    hyperparameters: Mapping[str, Any],
    weights: Any,
    x: Any,
    *,
    states: Any = None,
    training: bool = False,
    key: jax.Array | None = None,
    entry: str = "__call__",
    **inputs: Any,
) -> tuple[Any, Any]:
    """`fwd` of the layer at `place` ("nn/linear"): its output, and the new states.

    `weights` and `states` are arrays by the names of fields, nested for sub-layers;
    `entry` is the name of a second entry point, such as "attend".
    """
    layer = load(_SPECS / f"{place}.py")(**hyperparameters)
    layer.load(weights, states)
    with jax.numpy_dtype_promotion("strict"):
        y = getattr(layer, entry)(x, training=training, key=key, **inputs)
    return y, layer.non_trainables


def init_layer(
    place: str,
    hyperparameters: Mapping[str, Any],
    key: jax.Array | None = None,
    dtype: Any = None,
) -> tuple[Any, Any, Any]:
    """`init` of the layer at `place`: trainables, non_trainables, hyperparams."""
    layer = load(_SPECS / f"{place}.py")(**hyperparameters)
    layer.initialize(key, dtype)
    return layer.initialized


def init_optimizer(
    place: str, hyperparameters: Mapping[str, Any], weights: Any
) -> tuple[Any, Any]:
    """`init` of the optimizer at `place` ("optim/adam"): state, hyperparams."""
    optimizer = load(_SPECS / f"{place}.py")(**hyperparameters)
    optimizer.initialize(weights)
    return optimizer.initialized


def step_optimizer(
    hyperparams: Any, gradients: Any, state: Any, weights: Any
) -> tuple[Any, Any]:
    """`step` of an optimizer: the updates, and the new state."""
    with jax.numpy_dtype_promotion("strict"):
        return hyperparams.apply(gradients, state, weights)


def schedule(place: str, **hyperparameters: Any) -> Callable[[Any], Any]:
    """The schedule at `place` ("schedule/cosine")."""
    return load(_SPECS / f"{place}.py")(**hyperparameters)


def functional(name: str) -> Callable[..., Any]:
    """The function of that name."""
    function = load(_SPECS / "functional" / f"{name}.py")

    @functools.wraps(function)
    def call(*inputs: Any, **hyperparameters: Any) -> Any:
        with jax.numpy_dtype_promotion("strict"):
            return function(*inputs, **hyperparameters)

    return call
