"""Means over many batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from .._core.arrays import at_least


def evaluate(
    measure: Callable[[Any], Mapping[str, Any]], batches: Iterable[Any]
) -> dict[str, float]:
    """The mean over all examples of what is measured of each, also where the last batch is smaller.

    Args:
        measure: a function of a batch, compiled or not, that returns arrays by name, each with
            a number or a boolean for each example of the batch (of any shape, for what has
            several of an example).
        batches: of any sizes. Nothing waits for the device before the last one.

    Raises:
        TypeError: where something else is measured.
        ValueError: where there is no batch, or nothing in one, or other names than in the first.
    """
    totals: dict[str, list[tuple[jax.Array, int]]] = {}
    for number, batch in enumerate(batches):
        measured = measure(batch)
        if not isinstance(measured, Mapping):
            raise TypeError(
                "train.evaluate: measure must return a dict of arrays by name, got "
                f"{type(measured).__name__}"
            )
        if number and measured.keys() != totals.keys():
            raise ValueError(
                f"train.evaluate: batch {number} has the names {sorted(measured)}, and the "
                f"first one {sorted(totals)}"
            )
        for name, given in measured.items():
            values = jnp.asarray(given)
            if not values.ndim:
                raise TypeError(
                    f"train.evaluate: {name!r} is a scalar; a number for each example is "
                    "needed, since the batches may have different sizes"
                )
            totals.setdefault(name, []).append((_sum(values), values.size))
    counts = {name: sum(n for _, n in rows) for name, rows in totals.items()}
    if not totals or not all(counts.values()):
        raise ValueError("train.evaluate: there is nothing to measure: no example")
    return {
        # The sums of the batches are added up in the precision of Python.
        name: sum(float(total) for total, _ in rows) / counts[name]
        for name, rows in totals.items()
    }


@jax.jit
def _sum(values: jax.Array) -> jax.Array:
    return jnp.sum(values.astype(at_least(values.dtype, jnp.float32)))
