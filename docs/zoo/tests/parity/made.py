"""Generated layers on drawn weights: what they compute in float64, and their dtypes in bfloat16."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from mlax_scaffold.testing.audit import assert_dtypes
from mlax_scaffold.testing.dtypes import x64
from mlax_scaffold.testing.programs import quick


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers of that shape, others for another seed."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


class Made:
    """A layer of a module, with weights that are drawn, so that none is zero."""

    def __init__(
        self,
        module: Any,
        make: Callable[[], tuple[Any, Any, Any]],
        dtypes: tuple[Any, ...] = (jnp.bfloat16,),
    ) -> None:
        self.module = module
        # The narrowest input that it takes, and what else it computes in then.
        self.dtypes = dtypes
        with x64():
            weights, states, self.hyperparams = jax.eval_shape(make)
            states = make()[1] if jax.tree.leaves(states) else states
        leaves, structure = jax.tree.flatten(weights)
        # Of other sizes than those of inputs, so that no function saturates.
        given = [0.5 * drawn(*leaf.shape, seed=n + 1) for n, leaf in enumerate(leaves)]
        self.w = structure.unflatten(given)
        self.states = jax.tree.map(np.asarray, states)

    def __call__(
        self, x: Any, entry: str = "fwd", key: Any = None, **inputs: Any
    ) -> Any:
        """The result in float64, in training where there is a key."""
        return self.step(x, entry, key is None, key, **inputs)[0]

    def step(
        self, x: Any, entry: str, inference: bool, key: Any = None, **inputs: Any
    ) -> tuple[Any, Any]:
        """The result and the new states, in float64. Given bfloat16, nothing has another dtype."""

        def run(x: Any, weights: Any, states: Any, inputs: Any) -> Any:
            function = getattr(self.module, entry)
            return function(
                x, weights, states, self.hyperparams, inference, key, **inputs
            )

        given = x, self.w, self.states, inputs
        self._assert_dtypes(run, given)
        with x64():
            compiled = jax.jit(run, compiler_options=quick())
            return jax.tree.map(np.asarray, compiled(*given))

    def _assert_dtypes(self, run: Any, given: tuple[Any, ...]) -> None:
        narrow = functools.partial(_in_dtype, self.dtypes[0])
        x, weights, _, inputs = (jax.tree.map(narrow, tree) for tree in given)
        states = jax.tree.map(functools.partial(_in_dtype, jnp.float32), given[2])
        program, (y, new) = jax.make_jaxpr(run, return_shape=True)(
            x, weights, states, inputs
        )
        name, results = self.module.__name__, jax.tree.leaves(y)
        kept = [False] * len(results) + [True] * len(jax.tree.leaves(new))
        stored = (jnp.float32,)
        assert_dtypes(program, self.dtypes, stored=stored, kept=kept, what=name)
        found = {leaf.dtype for leaf in results if _is_floating(leaf)}
        assert found == {jnp.dtype(self.dtypes[0])}, name


def made(module: Any, **hyperparameters: Any) -> Made:
    """A layer with these hyperparameters."""

    def make() -> tuple[Any, Any, Any]:
        key = jax.random.key(0)
        return module.init(key, dtype=jnp.float64, **hyperparameters)

    return Made(module, make)


def _is_floating(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def _in_dtype(dtype: Any, x: Any) -> Any:
    x = np.asarray(x)
    return jnp.asarray(x, dtype) if _is_floating(x) else jnp.asarray(x)


def assert_same(given: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """The arrays of a tree are those that are expected, in order."""
    given, expected = jax.tree.leaves(given), jax.tree.leaves(expected)
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
