"""What the cases of generated tests are made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.testing.case import abstract
from mlax_scaffold.testing.picks import REFUSALS, UNTRACED, Refused


def array(shape: Sequence[int], dtype: DTypeLike = jnp.float32) -> jax.ShapeDtypeStruct:
    """An input of that shape; a floating dtype is replaced by that of the test."""
    return jax.ShapeDtypeStruct(tuple(shape), jnp.dtype(dtype))


def declared(*dtypes: DTypeLike | None) -> tuple[DTypeLike, ...]:
    """The dtypes that are given: what a layer may compute in beside that of its input."""
    return tuple(dtype for dtype in dtypes if dtype is not None)


def exact(*dtypes: DTypeLike | None) -> bool:
    """Whether a float64 computation stays exact enough for finite differences."""
    return all(d is None or jnp.dtype(d) == jnp.float64 for d in dtypes)


def smallest(*sizes: Any) -> int:
    """The smallest of the sizes among some values: what an index may be below of."""
    found = [s for s in sizes if isinstance(s, int) and not isinstance(s, bool)]
    return max(1, min(found, default=1))


def known(hyperparams: Any, per_dim: Sequence[str] = ()) -> dict[str, Any]:
    """The hyperparameters that shapes may name: integers, booleans, tuples of integers.

    Those called `per_dim` may be one value for all spatial axes: they become tuples.
    """
    fields = hyperparams if isinstance(hyperparams, Mapping) else vars(hyperparams)
    for name in per_dim:
        if isinstance(value := fields[name], int):
            fields = {**fields, name: (value,) * fields["spatial_dims"]}
    return {
        name: value
        for name, value in fields.items()
        if _may_be_named(value) and not name.startswith("_")
    }


def _may_be_named(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(part, int) for part in value)
    return isinstance(value, int)


def hyperparams_of(
    layer: Any,
    hyperparameters: Mapping[str, Any],
    requirements: Iterable[str] = (),
    *,
    unsaid: bool = False,
) -> Any:
    """The hyperparameters that `layer.init` makes of what was picked. Compiles nothing.

    `unsaid` says whether its own code may refuse them, and no requirement tell it.

    Raises:
        Refused: where they do not meet a requirement, by its message alone; any other error
            is an error of the layer.
    """
    try:
        return abstract(layer, hyperparameters, jnp.float32).hyperparams
    except UNTRACED:
        raise
    except REFUSALS as error:
        said = any(message in str(error) for message in requirements)
        if unsaid or (said and isinstance(error, ValueError)):
            raise Refused(hyperparameters, error) from error
        raise
