"""Options of layers that change which weights there are, or how they begin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_arrays import assert_close, draw

from mlax import nn

KEY = jax.random.key(0)
ones = jax.nn.initializers.ones


@pytest.mark.parametrize(
    ("cell", "options"),
    [
        (nn.SimpleCell, {}),
        (nn.LSTMCell, {}),
        (nn.GRUCell, {}),
        (nn.GRUCell, {"reset_after": False}),
        (nn.MGUCell, {}),
        (nn.MGUCell, {"reset_gate": False}),
    ],
)
def test_cells_without_biases_are_those_whose_biases_are_zero(cell, options, dtype):
    options = {"in_features": 4, "features": 3, "dtype": dtype, **options}
    weights, _, plain = cell.init(KEY, use_bias=False, **options)
    full, _, hyperparams = cell.init(KEY, **options)
    given = {name: w for name, w in weights._asdict().items() if w is not None}
    assert set(given) == {"kernel", "recurrent_kernel"}
    zeros = type(full)(*jax.tree.map(jnp.zeros_like, tuple(full)))
    carry = hyperparams.initial_carry((2, 4), dtype)
    carry = jax.tree.map(lambda part: draw(1, part.shape, dtype), carry)
    x = (draw(0, (2, 4), dtype), carry)
    y, _ = cell.fwd(x, weights, None, plain)
    expected, _ = cell.fwd(x, zeros._replace(**given), None, hyperparams)
    assert_close(y, expected, dtype)


@pytest.mark.parametrize("unit", [nn.GLU, nn.ReGLU, nn.GEGLU, nn.SwiGLU])
def test_initializers_of_gated_units(unit):
    weights, _, _ = unit.init(
        KEY,
        in_features=4,
        out_features=3,
        use_bias=True,
        precision="highest",
        kernel_initializer=jax.nn.initializers.constant(2.0),
        bias_initializer=ones,
    )
    for part in weights:
        np.testing.assert_array_equal(part.kernel, 2.0)
        np.testing.assert_array_equal(part.bias, 1.0)


def test_initializers_of_convolutions_of_two_parts():
    twos = jax.nn.initializers.constant(2.0)
    weights, _, _ = nn.SeparableConv.init(
        KEY, 1, 2, 3, 3, depthwise_initializer=twos, bias_initializer=ones
    )
    plain, _, _ = nn.SeparableConv.init(KEY, 1, 2, 3, 3)
    np.testing.assert_array_equal(weights.depthwise.kernel, 2.0)
    np.testing.assert_array_equal(weights.pointwise.kernel, plain.pointwise.kernel)
    np.testing.assert_array_equal(weights.pointwise.bias, 1.0)
    cell, _, _ = nn.ConvLSTMCell.init(
        KEY, 1, 2, 3, 3, kernel_initializer=twos, recurrent_kernel_initializer=ones
    )
    np.testing.assert_array_equal(cell.of_input.kernel, 2.0)
    np.testing.assert_array_equal(cell.of_state.kernel, 1.0)
