"""Generated layers on drawn weights: what they compute in float64, and their dtypes in bfloat16."""

from __future__ import annotations

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
    """What `init` returns, with weights and states that are drawn, and none that is zero."""

    def __init__(self, module: Any, initialized: tuple[Any, Any, Any]) -> None:
        self.module = module
        weights, states, self.hyperparams = initialized
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
        """The result and the new states, in float64. In bfloat16 nothing has another dtype."""

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
        x, weights, states, inputs = (jax.tree.map(_in_half, tree) for tree in given)
        states = jax.tree.map(_in_single, given[2])
        program, result = jax.make_jaxpr(
            lambda *arrays: run(*arrays)[0], return_shape=True
        )(x, weights, states, inputs)
        name = self.module.__name__
        assert_dtypes(program, (jnp.bfloat16,), what=name)
        found = {leaf.dtype for leaf in jax.tree.leaves(result) if _is_floating(leaf)}
        assert found == {jnp.dtype(jnp.bfloat16)}, name


def made(module: Any, **hyperparameters: Any) -> Made:
    """A layer."""
    with x64():
        key = jax.random.key(0)
        initialized = module.init(key, dtype=jnp.float64, **hyperparameters)
        return Made(module, jax.tree.map(np.asarray, initialized))


def _is_floating(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def _in_half(x: Any) -> Any:
    x = np.asarray(x)
    return jnp.asarray(x, jnp.bfloat16) if _is_floating(x) else jnp.asarray(x)


def _in_single(x: Any) -> Any:
    return jnp.asarray(x, jnp.float32) if _is_floating(x) else jnp.asarray(x)


def assert_same(given: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """The arrays of a tree are those that are expected, in order."""
    given, expected = jax.tree.leaves(given), jax.tree.leaves(expected)
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
