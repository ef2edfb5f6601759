"""Activations with weights or gates against flax, equinox and NumPy in float64."""

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer, init_layer
from numerics_arrays import assert_close, assert_same_vjp, draw, numpy

from mlax.nn import F


def test_prelu_is_that_of_flax(dtype):
    weights, x = {"slope": draw(0, (1,), dtype)}, draw(1, (3, 4), dtype)
    module = nn.PReLU(param_dtype=dtype)
    assert_same_vjp(
        lambda w, x: apply_layer("nn/p_re_lu", {}, w, x)[0],
        lambda w, x: module.apply({"params": {"negative_slope": w["slope"][0]}}, x),
        (weights, x),
        dtype,
    )


def test_prelu_with_a_slope_for_each_feature_is_that_of_equinox(dtype):
    slopes, x = draw(0, (4,), dtype), draw(1, (3, 4), dtype)

    def theirs(w, x):
        return eqx.nn.PReLU(init_alpha=w["slope"])(x)

    assert_same_vjp(
        lambda w, x: apply_layer("nn/p_re_lu", {"features": 4}, w, x)[0],
        theirs,
        ({"slope": slopes}, x),
        dtype,
    )


def test_prelu_with_slopes_of_channels_that_are_first(dtype):
    slopes, x = draw(0, (4,), dtype), draw(1, (3, 4, 2, 2), dtype)
    for axis in (1, -3):
        hyper = {"features": 4, "axis": axis}
        y, _ = apply_layer("nn/p_re_lu", hyper, {"slope": slopes}, x)
        wanted = np.where(x >= 0, x, numpy(slopes)[:, None, None] * numpy(x))
        assert_close(y, wanted, dtype)


def test_prelu_begins_with_a_quarter(dtype):
    trainables, _, _ = init_layer(
        "nn/p_re_lu", {"features": 3}, jax.random.key(0), dtype
    )
    assert_close(trainables.slope, np.full(3, 0.25), dtype)
    with pytest.raises(ValueError, match="features must be 1 or the size"):
        apply_layer(
            "nn/p_re_lu",
            {"features": 3},
            {"slope": trainables.slope},
            draw(0, (2, 4), dtype),
        )


GATES = {
    "glu": jax.nn.sigmoid,
    "re_glu": jax.nn.relu,
    "geglu": lambda x: jax.nn.gelu(x, approximate=False),
    "swi_glu": jax.nn.silu,
}


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("name", GATES)
def test_gated_linear_units(name, use_bias, dtype):
    weights = {}
    for i, part in enumerate(("gate", "value")):
        weights[part] = {"kernel": draw(2 * i, (4, 3), dtype)}
        if use_bias:
            weights[part]["bias"] = draw(2 * i + 1, (3,), dtype)
    x = draw(9, (2, 5, 4), dtype)
    hyper = {"in_features": 4, "out_features": 3, "use_bias": use_bias}
    dense = nn.Dense(
        3, use_bias=use_bias, dtype=dtype, param_dtype=dtype, precision="highest"
    )

    def theirs(w, x):
        gate, value = (
            dense.apply({"params": w[part]}, x) for part in ("gate", "value")
        )
        return GATES[name](gate) * value

    def ours(w, x):
        with jax.default_matmul_precision("highest"):
            return apply_layer(f"nn/{name}", hyper, w, x)[0]

    assert_same_vjp(ours, theirs, (weights, x), dtype)


def test_geglu_may_be_approximated(dtype):
    weights = {
        p: {"kernel": draw(i, (4, 3), dtype)} for i, p in enumerate(("gate", "value"))
    }
    x = draw(9, (5, 4), dtype)
    hyper = {"in_features": 4, "out_features": 3, "approximate": True}
    y, _ = apply_layer("nn/geglu", hyper, weights, x)
    w, a = numpy((weights, x))
    gate = a @ w["gate"]["kernel"]
    inner = np.sqrt(2.0 / np.pi) * (gate + 0.044715 * gate**3)
    assert_close(
        y, 0.5 * gate * (1.0 + np.tanh(inner)) * (a @ w["value"]["kernel"]), dtype
    )


def test_glu_without_weights_is_a_function_as_a_layer(dtype):
    x = draw(0, (2, 6), dtype)
    trainables, state, hyper = F.init(jax.nn.glu)
    y, _ = F.fwd(x, trainables, state, hyper)
    assert_close(y, nn.glu(x), dtype)


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("batch", [(), (2, 5)], ids=str)
def test_maxout(pieces, use_bias, batch, dtype):
    weights = {"kernel": draw(0, (4, pieces * 3), dtype)}
    if use_bias:
        weights["bias"] = draw(1, (pieces * 3,), dtype)
    x = draw(2, (*batch, 4), dtype)
    hyper = {
        "in_features": 4,
        "out_features": 3,
        "pieces": pieces,
        "use_bias": use_bias,
        "precision": "highest",
    }

    def theirs(w, x):
        kernels = w["kernel"].reshape(4, pieces, 3)
        y = jnp.einsum("...i,ipo->...po", x, kernels, precision="highest")
        return (y + w["bias"].reshape(pieces, 3) if use_bias else y).max(-2)

    assert_same_vjp(
        lambda w, x: apply_layer("nn/maxout", hyper, w, x)[0],
        theirs,
        (weights, x),
        dtype,
    )
    w, a = numpy((weights, x))
    maps = [a @ w["kernel"][:, 3 * p : 3 * p + 3] for p in range(pieces)]
    if use_bias:
        maps = [y + w["bias"][3 * p : 3 * p + 3] for p, y in enumerate(maps)]
    y, _ = apply_layer("nn/maxout", hyper, weights, x)
    assert_close(y, np.max(maps, axis=0), dtype)
