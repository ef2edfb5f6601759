"""How the numerical tests call the library: the one place that knows its interface.

The library runs without implicit promotion of dtypes; the peers that it is compared with
do not.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.core

import mlax.functional
from mlax_scaffold.reader.homes import module_name


def apply_layer(
    place: str,
    hyperparameters: Mapping[str, Any],
    weights: Any,
    x: Any,
    *,
    states: Any = None,
    training: bool = False,
    key: jax.Array | None = None,
    entry: str = "fwd",
    **inputs: Any,
) -> tuple[Any, Any]:
    """`fwd` of the layer at `place` ("nn/linear"): its output, and the new states.

    `weights` and `states` are arrays by the names of fields, nested for sub-layers;
    `entry` is the name of a second entry point, such as "attend".
    """
    trainables, non_trainables, hyperparams = jax.eval_shape(
        lambda key: init_layer(place, hyperparameters, key),
        jax.eval_shape(lambda: jax.random.key(0)),
    )
    run = functools.partial(getattr(_module(place), entry), inference_mode=not training)
    arrays = x, _filled(trainables, weights), _filled(non_trainables, states)
    y, state = _whole(run)(*arrays, hyperparams, key=key, **inputs)
    return y, _by_name(state)


def init_layer(
    place: str,
    hyperparameters: Mapping[str, Any],
    key: jax.Array | None = None,
    dtype: Any = None,
) -> tuple[Any, Any, Any]:
    """`init` of the layer at `place`: trainables, non_trainables, hyperparams."""
    init = _module(place).init
    if "key" not in inspect.signature(init).parameters:
        return init(**hyperparameters)
    return jax.jit(functools.partial(init, **hyperparameters, dtype=dtype))(key)


def init_optimizer(
    place: str, hyperparameters: Mapping[str, Any], weights: Any
) -> tuple[Any, Any]:
    """`init` of the optimizer at `place` ("optim/adam"): state, hyperparams."""
    init = _module(place).init
    if "trainables" not in inspect.signature(init).parameters:
        return init(**hyperparameters)
    return init(weights, **hyperparameters)


def step_optimizer(
    hyperparams: Any, gradients: Any, state: Any, weights: Any
) -> tuple[Any, Any]:
    """`step` of an optimizer: the updates, and the new state."""
    with jax.numpy_dtype_promotion("strict"):
        return hyperparams.apply(gradients, state, weights)


def schedule(place: str, **hyperparameters: Any) -> Callable[[Any], Any]:
    """The schedule at `place` ("schedule/cosine")."""
    section, stem = place.split("/")
    found = importlib.import_module(f"mlax.{section}")
    names = {module_name(name): name for name in found.__all__}
    return getattr(found, names[stem])(**hyperparameters)


def functional(name: str) -> Callable[..., Any]:
    """The function of that name."""
    function = getattr(mlax.functional, name)

    @functools.wraps(function)
    def call(*inputs: Any, **hyperparameters: Any) -> Any:
        return _whole(functools.partial(function, **hyperparameters))(*inputs)

    return call


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one program: one for each of its operations would take longer."""

    def run(*arrays: Any, **named: Any) -> Any:
        leaves = jax.tree.leaves((arrays, named))
        traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
        with jax.numpy_dtype_promotion("strict"):
            return (function if traced else jax.jit(function))(*arrays, **named)

    return run


def _module(place: str) -> Any:
    return importlib.import_module(f"mlax.{place.replace('/', '.')}")


def _filled(structure: Any, arrays: Any) -> Any:
    """The named tuple with arrays by the names of its fields; None where there is none."""
    if not hasattr(structure, "_fields"):
        return None if structure is None else arrays
    given = {name: (arrays or {}).get(name) for name in structure._fields}
    return type(structure)(
        **{name: _filled(getattr(structure, name), v) for name, v in given.items()}
    )


def _by_name(tree: Any) -> Any:
    """Named tuples as dicts."""
    if not hasattr(tree, "_asdict"):
        return tree
    return {name: _by_name(value) for name, value in tree._asdict().items()}
