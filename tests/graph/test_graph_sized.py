"""Pairs with the sizes of an input."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mlax.graph as bx
from mlax import block, nn

KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("layer", "shape", "arguments", "sizes"),
    [
        (nn.Linear, (2, 5), {"out_features": 3}, {"in_features": 5}),
        (
            nn.Conv,
            (2, 4, 6, 6),
            {"spatial_dims": 2, "out_channels": 3, "kernel_size": 3},
            {"in_channels": 4},
        ),
        (nn.BatchNorm, (2, 6, 4), {"channel_last": True}, {"channels": 4}),
        (nn.BatchNorm, (2, 4, 6), {}, {"channels": 4}),
        (nn.BatchNorm, (2, 3, 4, 6), {"batch_dims": 2}, {"channels": 4}),
        (nn.Bias, (2, 4, 6), {"spatial_dims": 1}, {"features": 4}),
        (nn.Dropout, (2, 3), {"rate": 0.5}, {}),
    ],
    ids=str,
)
def test_sizes_are_those_of_the_input(
    layer: Any, shape: tuple[int, ...], arguments: Any, sizes: Any
):
    x = jax.ShapeDtypeStruct(shape, jnp.float32)
    found = bx.init_for(layer, x, KEY, **arguments)
    key = () if layer is nn.Dropout else (KEY,)
    expected = layer.init(*key, **arguments, **sizes)
    jax.tree.map(np.testing.assert_array_equal, found[:2], expected[:2])
    assert found[2] == expected[2]


def test_the_dtype_and_initializers_are_those_given():
    x = jnp.ones((2, 5))
    zeros = jax.nn.initializers.zeros
    weights, _, hyper = bx.init_for(
        nn.Linear, x, KEY, out_features=3, kernel_initializer=zeros, dtype="bfloat16"
    )
    assert weights.kernel.dtype == jnp.bfloat16
    assert not weights.kernel.any()
    assert nn.Linear.fwd(x, weights, None, hyper)[0].shape == (2, 3)


def test_sizes_of_a_cell():
    carry = jnp.zeros((2, 3)), jnp.zeros((2, 3))
    *_, hyper = bx.init_for(nn.LSTMCell, (jnp.ones((2, 5)), carry), KEY, features=3)
    assert hyper.in_features == 5


def test_a_size_that_is_given_stays():
    x = jnp.ones((2, 5))
    weights, *_ = bx.init_for(nn.Linear, x, KEY, in_features=7, out_features=3)
    assert weights.kernel.shape == (7, 3)


@pytest.mark.parametrize(
    ("layer", "arguments", "message"),
    [
        (nn.Linear, {}, "Linear: init also needs out_features"),
        (
            nn.Linear,
            {"out_features": 3, "units": 2},
            "Linear: init has no argument units",
        ),
        (block.Series, {"layers": []}, "takes a layer, such as nn.Linear"),
        (jnp.tanh, {}, "takes a layer, such as nn.Linear"),
    ],
)
def test_what_is_refused(layer: Any, arguments: Any, message: str):
    with pytest.raises(TypeError, match=message):
        bx.init_for(layer, jnp.ones((2, 5)), KEY, **arguments)
