"""Arrays that cases are called with: what a leaf gets depends on the seed and its path."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

PyTree = Any
DEFAULT_RANGE = (0, 2)


class Draw:
    """Arrays for ShapeDtypeStructs. What a leaf gets depends on the seed and its path."""

    def __init__(self, seed: int, ranges: Mapping[str, tuple[float, float]]):
        self.seed = seed
        self.ranges = ranges

    def tree(self, name: str, tree: PyTree, floating: Callable[..., Any]) -> PyTree:
        def leaf(path: Any, struct: jax.ShapeDtypeStruct) -> Any:
            place = name + jax.tree_util.keystr(path)
            generator = np.random.default_rng([self.seed, zlib.crc32(place.encode())])
            shape, dtype = struct.shape, struct.dtype
            chosen = self.ranges.get(place, self.ranges.get(name))
            if jnp.issubdtype(dtype, jax.dtypes.prng_key):
                return jax.random.split(jax.random.key(self.seed), shape)
            if jnp.issubdtype(dtype, jnp.floating):
                values = (
                    floating(generator, shape)
                    if chosen is None
                    else generator.uniform(*chosen, shape)
                )
            elif jnp.issubdtype(dtype, jnp.complexfloating):
                values = floating(generator, shape) + 1j * floating(generator, shape)
            elif dtype == np.bool_:
                values = generator.random(shape) < 0.5
            elif not jnp.issubdtype(dtype, jnp.integer):
                raise TypeError(
                    f"{place} has the dtype {dtype}, of which none can be drawn"
                )
            elif name == "state":
                values = np.zeros(shape)
            else:
                low, high = map(int, DEFAULT_RANGE if chosen is None else chosen)
                values = generator.integers(low, high, shape)
            # `jnp.asarray` would compile a program for each shape.
            return jax.device_put(np.asarray(values).astype(dtype))

        return jax.tree_util.tree_map_with_path(leaf, tree)

    @staticmethod
    def normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return generator.standard_normal(shape)

    @staticmethod
    def weight(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return 0.5 * generator.standard_normal(shape)

    @staticmethod
    def state(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return generator.uniform(0.5, 1.5, shape)
