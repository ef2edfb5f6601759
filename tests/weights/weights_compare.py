"""Mapping, writing, reading and loading, and comparing what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.weights import Mapping, load_mapped, map_weights, parse_mapping

KEY = jax.random.key(0)


def shaped(make: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """What `init` would make in float64, as shapes: nothing is drawn."""
    return jax.eval_shape(lambda: make(*given, **options, dtype=jnp.float64))


def loaded(checkpoint: Any, model: Any, **how: Any) -> Any:
    """The model with the weights of a checkpoint, by the mapping that is proposed, as text."""
    mapping = map_weights(checkpoint, model, **how)
    assert mapping.complete, str(mapping)
    return load_mapped(parse_mapping(str(mapping)), checkpoint, model)


def applied(model: Any, x: Any, **inputs: Any) -> Any:
    """What a layer makes of its input at inference."""
    trainables, state, hyperparams = model

    @jax.jit
    def apply(x: Any, trainables: Any, state: Any, inputs: Any) -> Any:
        return hyperparams.apply(x, trainables, state, True, None, **inputs)[0]

    return apply(x, trainables, state, inputs)


def assert_same(ours: Any, theirs: Any, tolerance: float = 1e-12) -> None:
    """Within rounding of float64."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def made_of(mapping: Mapping, path: str) -> str:
    """The expression of a weight, or its candidates."""
    [weight] = [w for w in mapping.weights if w.leaf.path == path]
    return (
        str(weight.expression) if weight.expression else " | ".join(weight.candidates)
    )


def drawn_like(shapes: Any, seed: int = 0) -> Any:
    """A tree of drawn arrays in the place of shapes; variances are positive."""
    generator = np.random.default_rng(seed)

    def draw(shape: Any) -> Any:
        if not jnp.issubdtype(shape.dtype, jnp.floating):
            return np.zeros(shape.shape, shape.dtype)
        return np.abs(generator.normal(size=shape.shape))

    return jax.tree.map(draw, shapes)
