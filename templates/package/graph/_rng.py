"""Random numbers: a seed and a counter among the parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.core
import jax.numpy as jnp

from ._given import checked_params
from ._graph import Path, shown_path
from ._module import Module
from ._params import Params


class NotSeeded(ValueError, KeyError):
    """Keys were asked of an `Rng` that has no seed. It is a KeyError too: parameters are missing."""

    def __str__(self) -> str:
        return ValueError.__str__(self)


class Rng(Module):
    """Gives keys: `key, params = rng(params)`.

    key = fold_in(seed, counter); counter += 1. Both are parameters that are not trainable.

    >>> graph = Graph("model")
    >>> rng = Rng(graph.child("rng"))
    >>> params = rng.seed(Params(), seed=42)
    >>> key, params = rng(params)

    Where `jax.vmap` or `jax.shard_map` replicates the parameters, all lanes draw the same
    numbers. Fold the lane in: `rng.seed(params, seed=fold_in(rng.get_seed(params), lane))`.
    """

    _gives_keys = True

    @property
    def paths(self) -> tuple[Path, Path]:
        """The paths of the seed and of the counter."""
        return self.param_path("seed"), self.param_path("counter")

    def seed(self, params: Params, *, seed: Any = None, counter: Any = None) -> Params:
        """The params with this seed, and this counter.

        Args:
            params: where they are.
            seed: an integer, or a key; None: the seed that is there.
            counter: the number of keys that were drawn; None: what is there, else 0.

        Raises:
            ValueError: where there is no seed, and none is given; where it is several keys.
            TypeError: where the seed is no integer and no key, or the counter no integer.
            LockedError: where there is none in locked params.
        """
        checked_params(self, params)
        if seed is None and self.param_path("seed") not in params:
            raise ValueError(
                f"Rng: {shown_path(self.path)} has no seed yet; pass seed=..."
            )
        if seed is not None:
            params = self.set_param(params, "seed", _key(seed), trainable=False)
        if counter is None and self.param_path("counter") in params:
            return params
        value = _count(0 if counter is None else counter)
        return self.set_param(params, "counter", value, trainable=False)

    def is_seeded(self, params: Params) -> bool:
        """Whether there are a seed and a counter."""
        return all(path in params for path in self.paths)

    def get_seed(self, params: Params) -> jax.Array:
        """The seed: a key.

        Raises:
            ValueError: where there is none.
        """
        return self._state(params)[0]

    def get_counter(self, params: Params) -> jax.Array:
        """The number of keys that were drawn since seeding."""
        return self._state(params)[1]

    def __call__(self, params: Params) -> tuple[jax.Array, Params]:
        """A key that no other call gives, and the params with the next counter."""
        seed, counter = self._state(params)
        key = jax.random.fold_in(seed, counter)
        return key, self.set_param(params, "counter", counter + 1)

    def _state(self, params: Params) -> tuple[jax.Array, jax.Array]:
        checked_params(self, params)
        if not self.is_seeded(params):
            raise NotSeeded(
                f"Rng: {shown_path(self.path)} is not seeded; call params = rng.seed(params, seed=...)"
            )
        seed, counter = (params[path].value for path in self.paths)
        return seed, counter


def _key(seed: Any) -> jax.Array:
    kind = getattr(seed, "dtype", type(seed))
    if jnp.issubdtype(kind, jax.dtypes.prng_key):
        key = seed
    elif jnp.issubdtype(kind, jnp.integer):
        # A legacy key is an array of integers.
        key = jax.random.wrap_key_data(seed) if jnp.ndim(seed) else jax.random.key(seed)
    else:
        raise TypeError(f"Rng: seed must be an integer or a key, got {seed!r}")
    if key.shape:
        raise ValueError(
            f"Rng: seed must be one key, got an array of shape {key.shape}; call in jax.vmap, "
            "once for each key"
        )
    return key


def _count(counter: Any) -> jax.Array:
    integer = jnp.issubdtype(getattr(counter, "dtype", type(counter)), jnp.integer)
    # What is traced is not known, and is taken as it is.
    known = (
        integer and not jnp.shape(counter) and not isinstance(counter, jax.core.Tracer)
    )
    if not integer or jnp.shape(counter) or (known and not 0 <= int(counter) < 2**32):
        raise TypeError(
            "Rng: counter must be below 2**32 and an integer of at least 0, "
            f"got {counter!r}"
        )
    return jnp.asarray(counter, jnp.uint32)
