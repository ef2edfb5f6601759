"""Every optimizer of the library, with hyperparameters that show what it keeps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import optax

from mlax import optim


def not_the_bias(path: str, weight: Any) -> bool:
    """A mask."""
    return path != "bias"


def each_second(step: Any) -> Any:
    """A condition."""
    return step % 2 == 0


_GIVEN = {
    "clip_norm": 1.0,
    "clipping": 0.1,
    "condition": each_second,
    "decay": 0.9,
    "eta": 0.01,
    "every": 2,
    "factor": -0.1,
    "learning_rate": 0.1,
    "mask": not_the_bias,
    "max_delta": 1.0,
    "max_norm": 1.0,
    "measure": jnp.abs,
    "noise_multiplier": 1.0,
    "projection": jnp.tanh,
    "threshold": 1.0,
    "weight_decay": 0.1,
}
"""Values of the arguments that have no default."""

_SETTINGS: dict[str, dict[str, Any]] = {
    "Adafactor": {"min_factored_size": 4, "momentum": 0.9},
    "Galore": {"rank": 4},
    "LowRank": {"rank": 4},
    "Sgd": {"momentum": 0.9},
}
"""With them an optimizer keeps more than it does by default."""


PER_EXAMPLE = ("AverageExamples", "ClipExamples", "DifferentiallyPrivate")
"""Optimizers whose gradients are those of each example."""


def names() -> list[str]:
    """The names of all optimizers."""
    return [name for name in optim.__all__ if hasattr(getattr(optim, name), "step")]


def create(name: str, weights: Any, **settings: Any) -> Any:
    """An initialized optimizer; one of optimizers has Adam in it."""
    init = getattr(optim, name).init
    adam = optim.Adam.init(weights, 0.1)
    given = _GIVEN | {
        "trainables": weights,
        "optimizer": adam,
        "adversary": adam,
        "transformations": [optim.ClipByGlobalNorm.init(weights, 1.0), adam],
    }
    parameters = inspect.signature(init).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty]
    arguments = {name: given[name] for name in required}
    return init(**arguments | _SETTINGS.get(name, {}) | settings)


def every() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Each optimizer by name, and those of optax: what initializes it for weights."""
    for name in names():
        yield name, lambda weights, name=name: create(name, weights)
    for name, transformation in {
        "of_optax/adam": optax.adam(0.1),
        "of_optax/partition": optax.partition(
            {"a": optax.adam(0.1), "b": optax.sgd(0.1, 0.9)},
            {"kernel": "a", "bias": "b", "scale": "a"},
        ),
    }.items():
        yield name, lambda w, t=transformation: optim.from_optax(t, w)
