"""Optimizers that treat the units of a layer apart know where the units of its kernel are."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mlax import nn, optim

UNITS = 7
"""No other axis of a kernel has this size."""

_KEY = jax.random.key(0)
LAYERS: dict[str, Any] = {
    "linear": lambda: nn.Linear.init(_KEY, 4, UNITS),
    "patches": lambda: nn.PatchEmbed.init(_KEY, 2, 3, UNITS, 5),
}
for _dims in (1, 2, 3):
    for _last in (False, True):
        LAYERS |= {
            f"{name}_{_dims}_{_last}": lambda layer=layer, dims=_dims, last=_last: (
                layer.init(_KEY, dims, 3, UNITS, 5, channel_last=last)
            )
            for name, layer in (("conv", nn.Conv), ("transposed", nn.ConvTranspose))
        }
each_layer = pytest.mark.parametrize("layer", LAYERS)


def kernel_of(layer: str) -> tuple[jax.Array, jax.Array, tuple[int, ...]]:
    """A kernel, a gradient of it, and all axes but that of its units."""
    kernel = LAYERS[layer]()[0].kernel
    gradient = jax.random.normal(jax.random.key(1), kernel.shape, kernel.dtype)
    axes = tuple(a for a, size in enumerate(kernel.shape) if size != UNITS)
    assert len(axes) == kernel.ndim - 1
    return kernel, gradient, axes


def stepped(optimizer: Any, gradient: Any, weight: Any) -> Any:
    state, hyperparams = optimizer
    return hyperparams.apply(gradient, state, weight)[0]


@each_layer
def test_gradients_are_clipped_by_unit(layer):
    kernel, gradient, axes = kernel_of(layer)
    actual = stepped(optim.AdaptiveGradClip.init(kernel, 0.1), gradient, kernel)
    w, g = np.asarray(kernel, np.float64), np.asarray(gradient, np.float64)
    largest = 0.1 * np.sqrt((w * w).sum(axes, keepdims=True))
    norm = np.sqrt((g * g).sum(axes, keepdims=True))
    np.testing.assert_allclose(actual, g * np.minimum(1.0, largest / norm), rtol=1e-4)


@each_layer
def test_gradients_are_centralized_by_unit(layer):
    kernel, gradient, axes = kernel_of(layer)
    actual = stepped(optim.Centralize.init(kernel), gradient, kernel)
    expected = gradient - gradient.mean(axes, keepdims=True)
    np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_with_an_axis_it_is_that_of_optax():
    kernel, gradient, _ = kernel_of("conv_2_False")
    for unit, axes in ((0, (1, 2, 3)), (-1, (0, 1, 2)), (1, (0, 2, 3))):
        theirs = optax.adaptive_grad_clip(0.1, axis=axes)
        expected, _ = theirs.update(gradient, theirs.init(kernel), kernel)
        ours = optim.AdaptiveGradClip.init(kernel, 0.1, unit_axis=unit)
        actual = np.asarray(stepped(ours, gradient, kernel))
        np.testing.assert_allclose(actual, np.asarray(expected), rtol=1e-5)


def test_masks_say_where_units_are_elsewhere():
    weights = {"experts": jnp.ones((2, 3, 4)), "conv": jnp.ones((5, 3, 2))}
    gradient = jax.tree.map(
        lambda w: jnp.arange(w.size, dtype=w.dtype).reshape(w.shape), weights
    )
    last = optim.Centralize.init(weights, unit_axis=-1)
    first = optim.Centralize.init(weights)
    chain = optim.Chain.init(
        [
            optim.Masked.init(weights, last, lambda path, weight: path == "experts"),
            optim.Masked.init(weights, first, lambda path, weight: path == "conv"),
        ]
    )
    updates = stepped(chain, gradient, weights)
    assert bool(jnp.allclose(updates["experts"].mean((0, 1)), 0.0, atol=1e-5))
    assert bool(jnp.allclose(updates["conv"].mean((1, 2)), 0.0, atol=1e-5))
