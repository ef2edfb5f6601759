"""What layers and functions refuse, and what they say."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import functional

from mlax import nn

KEY = jax.random.key(0)
X = jnp.ones((2, 4))


@pytest.mark.parametrize(
    ("layer", "name", "given"),
    [
        (nn.LayerNorm.init(KEY, 4, axis=2), "axis", "(2,)"),
        (nn.RMSNorm.init(KEY, 4, axis=(-3, -1)), "axis", "(-3, -1)"),
        (nn.ZNorm.init(axis=(1, -1)), "axis", "(1, -1)"),
        (nn.Dropout.init(0.5, broadcast_axis=5), "broadcast_axis", "(5,)"),
        (nn.LinearGeneral.init(KEY, (4,), (3,), axis=3), "axis", "(3,)"),
        (
            nn.LinearGeneral.init(KEY, (4,), (3,), batch_features=(2,), batch_axis=-3),
            "batch_axis",
            "(-3,)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_axes_that_the_input_does_not_have(layer, name, given):
    trainables, state, hyperparams = layer
    owner = type(hyperparams).__name__.removesuffix("Hyperparams")
    message = f"{owner}: {name} must be different axes of an array of 2 axes, got "
    with pytest.raises(ValueError, match=re.escape(message + given)):
        hyperparams.apply(X, trainables, state, False, KEY)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "softmax", "l2_norm", "prod"])
@pytest.mark.parametrize("axis", [2, (0, -2)])
def test_axes_of_functions(name, axis):
    with pytest.raises(ValueError, match=f"{name}: axis must be different axes"):
        functional(name)(X, axis=axis)


@pytest.mark.parametrize(
    "given", [None, "x", object()], ids=lambda value: type(value).__name__
)
def test_inputs_that_are_no_arrays(given):
    trainables, _, hyperparams = nn.Linear.init(KEY, 4, 3)
    kind = type(given).__name__
    with pytest.raises(
        TypeError, match=f"Linear: x must be a floating array, got {kind}"
    ):
        nn.Linear.fwd(given, trainables, None, hyperparams)
    trainables, _, hyperparams = nn.Embed.init(KEY, 4, 3)
    with pytest.raises(
        TypeError, match=f"Embed: x must be an integer array, got {kind}"
    ):
        nn.Embed.fwd(given, trainables, None, hyperparams)


def test_carries_of_arrays_of_numpy_and_of_lists():
    trainables, _, hyperparams = nn.LSTMCell.init(KEY, 4, 3)
    x, zeros = np.ones((2, 4)), np.zeros((2, 3))
    carry = (jnp.asarray(zeros), jnp.asarray(zeros))
    expected, _ = nn.LSTMCell.fwd(
        (jnp.asarray(x), carry), trainables, None, hyperparams
    )
    for given in ((x, (zeros, zeros)), (x.tolist(), [zeros.tolist()] * 2)):
        y, _ = nn.LSTMCell.fwd(given, trainables, None, hyperparams)
        jax.tree.map(np.testing.assert_array_equal, y, expected)
    message = r"LSTMCell: carry\[1\] must be a floating array, got int"
    with pytest.raises(TypeError, match=message):
        nn.LSTMCell.fwd((x, (zeros, zeros.astype(int))), trainables, None, hyperparams)


@pytest.mark.parametrize("key", [KEY, jax.random.PRNGKey(0)], ids=["typed", "raw"])
@pytest.mark.parametrize(
    ("layer", "before", "after"),
    [(nn.Dropout, (), (0.5,)), (nn.Linear, (4, 3), ())],
    ids=["where there are no weights", "in the wrong place"],
)
def test_keys_in_the_place_of_hyperparameters(layer, before, after, key):
    with pytest.raises(ValueError, match="got a PRNG key: a key comes first where"):
        layer.init(*before, key, *after)
