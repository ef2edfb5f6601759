"""The small layers that blocks are tested with."""

import jax
import jax.numpy as jnp
import pytest

from mlax_scaffold.testing import toys


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (5, toys.WIDTH), (2, 9)])
def test_a_toy_maps_arrays_of_any_shape_to_that_shape(shape):
    weights, state, hyperparams = toys.layer(jax.random.key(0), None)
    x = jax.random.normal(jax.random.key(1), shape)
    y, _ = hyperparams.apply(x, weights, state)
    assert y.shape == shape
    assert not jnp.array_equal(y, hyperparams.scale * x)
    gradient = jax.grad(lambda w: hyperparams.apply(x, w, state)[0].sum())(weights)
    assert gradient.kernel.any()
