"""Options of layers that change which weights there are, or how they begin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer, init_layer
from numerics_arrays import assert_close, draw

from mlax import nn

KEY = jax.random.key(0)
ones = jax.nn.initializers.ones


CELLS = {
    "simple_cell": ({}, 1),
    "lstm_cell": ({}, 4),
    "gru_cell": ({"reset_after": False}, 3),
    "mgu_cell": ({"reset_gate": True}, 2),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_without_biases_are_those_whose_biases_are_zero(name):
    options, gates = CELLS[name]
    hyper = {"in_features": 4, "features": 3, **options}
    kernels = {
        "kernel": draw(0, (4, 3 * gates), "float32"),
        "recurrent_kernel": draw(1, (3, 3 * gates), "float32"),
    }
    full = jax.eval_shape(lambda: init_layer(f"nn/{name}", hyper, jax.random.key(0))[0])
    biases = {
        field: jnp.zeros(array.shape)
        for field, array in full._asdict().items()
        if array is not None and field not in kernels
    }
    h = draw(2, (2, 3), "float32")
    x = (draw(3, (2, 4), "float32"), (h, h) if name == "lstm_cell" else h)

    @jax.jit
    def both(kernels, biases, x):
        plain = {**hyper, "use_bias": False}
        return (
            apply_layer(f"nn/{name}", plain, kernels, x)[0],
            apply_layer(f"nn/{name}", hyper, {**kernels, **biases}, x)[0],
        )

    assert biases
    y, expected = both(kernels, biases, x)
    assert_close(y, expected, "float32")


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
    np.testing.assert_array_equal(weights.depthwise.kernel, 2.0)
    assert weights.pointwise.kernel.std() > 0.0
    np.testing.assert_array_equal(weights.pointwise.bias, 1.0)
    cell, _, _ = nn.ConvLSTMCell.init(
        KEY, 1, 2, 3, 3, kernel_initializer=twos, recurrent_kernel_initializer=ones
    )
    np.testing.assert_array_equal(cell.of_input.kernel, 2.0)
    np.testing.assert_array_equal(cell.of_state.kernel, 1.0)
