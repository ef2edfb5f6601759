"""Kernels that lie the other way, are masked, or are multiplied by another product."""

from __future__ import annotations

import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numerics_adapter import apply_layer, init_layer
from numerics_arrays import assert_close, assert_same_vjp, draw, numpy
from numerics_parity import assert_parity


def kernel_of_flax(kernel, channel_last):
    """(*size, in, out) to (out, in, *size), or (out, *size, in)."""
    kernel = jnp.moveaxis(kernel, -1, 0)
    return kernel if channel_last else jnp.moveaxis(kernel, -1, 1)


LINEAR = {"in_features": 4, "out_features": 3, "precision": "highest"}


def test_a_transposed_kernel(dtype):
    weights = {"kernel": draw(0, (3, 4), dtype), "bias": draw(1, (3,), dtype)}
    module = nn.Dense(3, dtype=dtype, param_dtype=dtype, precision="highest")

    def theirs(weights, x):
        kernel = weights["kernel"].T
        return module.apply({"params": {**weights, "kernel": kernel}}, x)

    hyper = {**LINEAR, "transposed_kernel": True}
    for shape in ((4,), (2, 5, 4)):
        assert_same_vjp(
            lambda w, x: apply_layer("nn/linear", hyper, w, x)[0],
            theirs,
            (weights, draw(2, shape, dtype)),
            dtype,
        )


def test_a_transposed_kernel_is_drawn_with_as_many_inputs():
    hyper = {"in_features": 400, "out_features": 100, "transposed_kernel": True}
    kernel = init_layer("nn/linear", hyper, jax.random.key(0))[0].kernel
    assert kernel.shape == (100, 400)
    assert float(kernel.std()) == pytest.approx(400**-0.5, rel=0.02)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_masked_kernel_of_linear(transposed, dtype):
    shape = (3, 4) if transposed else (4, 3)
    weights = {"kernel": draw(0, shape, dtype), "bias": draw(1, (3,), dtype)}
    mask = np.tril(np.ones(shape, bool))
    hyper = {**LINEAR, "transposed_kernel": transposed}

    def product(weights, x):
        kernel = weights["kernel"] * mask.astype(dtype)
        return x @ (kernel.T if transposed else kernel) + weights["bias"]

    assert_parity(
        lambda w, x: apply_layer("nn/linear", hyper, w, x, kernel_mask=mask)[0],
        product,
        dtype,
        weights,
        draw(2, (5, 4), dtype),
    )


@pytest.mark.parametrize("channel_last", [False, True])
@pytest.mark.parametrize("place", ["nn/conv", "nn/conv_transpose"])
def test_a_masked_kernel_of_a_convolution_as_of_flax(place, channel_last, dtype):
    hyper = {
        "spatial_dims": 2,
        "in_channels": 4,
        "out_channels": 6,
        "kernel_size": 3,
        "channel_last": channel_last,
        "precision": "highest",
    }
    shape = (3, 3, 4, 6)
    weights = {"kernel": draw(0, shape, dtype), "bias": draw(1, (6,), dtype)}
    mask = np.random.default_rng(3).random(shape) < 0.5
    options = {"dtype": dtype, "param_dtype": dtype, "precision": "highest"}
    kind = nn.Conv if place == "nn/conv" else nn.ConvTranspose
    module = kind(6, (3, 3), mask=jnp.asarray(mask, dtype), **options)

    def ours(weights, x):
        kernel, own = (
            kernel_of_flax(jnp.asarray(k), channel_last)
            for k in (weights["kernel"], mask)
        )
        x = x if channel_last else jnp.moveaxis(x, -1, 1)
        given = {**weights, "kernel": kernel}
        y = apply_layer(place, hyper, given, x, kernel_mask=own)[0]
        return y if channel_last else jnp.moveaxis(y, 1, -1)

    def theirs(weights, x):
        return module.apply({"params": weights}, x)

    assert_parity(ours, theirs, dtype, weights, draw(2, (2, 5, 4, 4), dtype))


def test_a_masked_kernel_of_a_local_convolution_as_of_flax(dtype):
    hyper = {
        "spatial_dims": 1,
        "in_channels": 2,
        "out_channels": 3,
        "input_size": 5,
        "kernel_size": 3,
        "channel_last": True,
        "precision": "highest",
    }
    shape = (5, 6, 3)
    weights = {"kernel": draw(0, shape, dtype), "bias": draw(1, (5, 3), dtype)}
    mask = np.random.default_rng(3).random(shape) < 0.5
    options = {"dtype": dtype, "param_dtype": dtype, "precision": "highest"}
    module = nn.ConvLocal(3, (3,), mask=jnp.asarray(mask, dtype), **options)

    def ours(weights, x):
        kernel, own = (jnp.moveaxis(k, -1, 0) for k in (weights["kernel"], mask))
        given = {**weights, "kernel": kernel}
        return apply_layer("nn/conv_local", hyper, given, x, kernel_mask=own)[0]

    def theirs(weights, x):
        return module.apply({"params": weights}, x)

    assert_parity(ours, theirs, dtype, weights, draw(2, (2, 5, 2), dtype))


def test_a_mask_that_does_not_fit_is_refused():
    weights = {"kernel": draw(0, (4, 3), "float32"), "bias": jnp.zeros(3)}
    with pytest.raises(ValueError, match="kernel_mask"):
        apply_layer(
            "nn/linear", LINEAR, weights, jnp.ones(4), kernel_mask=np.ones((3, 4), bool)
        )


def in_eight_bits(left, right, dimensions, precision=None):
    """A product of factors that are scaled into the range of an 8-bit float, and rounded to it."""

    def narrow(x):
        scale = jnp.max(jnp.abs(x)) / float(jnp.finfo(jnp.float8_e4m3fn).max)
        return (x / scale).astype(jnp.float8_e4m3fn), scale

    (left, a), (right, b) = narrow(left), narrow(right)
    y = lax.dot_general(left, right, dimensions, preferred_element_type=a.dtype)
    return y * (a * b)


@pytest.mark.parametrize(
    ("place", "hyper", "shape", "axes"),
    [
        ("nn/linear", LINEAR, (4, 3), 1),
        (
            "nn/linear_general",
            {"in_features": (2, 2), "out_features": (3,), "axis": (-2, -1)},
            (2, 2, 3),
            2,
        ),
    ],
)
def test_a_product_in_eight_bits(place, hyper, shape, axes):
    """The result has the dtype of x, and is that of rounded factors; it is not exact."""
    weights = {"kernel": draw(0, shape, "float32"), "bias": draw(1, (3,), "float32")}
    x = draw(2, (5, *shape[:axes]), "float32")
    given = {**hyper, "dot_general": in_eight_bits}
    y = apply_layer(place, given, weights, x)[0]
    assert y.dtype == "float32"

    def rounded(x):
        scale = jnp.float32(np.abs(np.asarray(x)).max() / np.float32(448.0))
        narrow = (x / scale).astype(jnp.float8_e4m3fn)
        return numpy(narrow.astype(jnp.float32)) * float(scale)

    product = np.tensordot(rounded(x), rounded(weights["kernel"]), axes)
    assert_close(y, product + numpy(weights["bias"]), "float32")
    exact = apply_layer(place, hyper, weights, x)[0]
    error = np.abs(numpy(y - exact)).max()
    assert 1e-3 < error < 0.5


def test_all_maps_of_attention_have_that_product():
    hyper = {"features": 8, "heads": 2}
    weights = init_layer("nn/multi_head_attention", hyper, jax.random.key(0))[0]
    shapes = []

    def noted(left, right, dimensions, precision=None):
        shapes.append(right.shape)
        return lax.dot_general(left, right, dimensions, precision=precision)

    x = draw(0, (2, 3, 8), "float32")
    named = weights._asdict()
    for name in ("to_query", "to_key", "to_value", "to_output"):
        named[name] = named[name]._asdict()
    given = {**hyper, "dot_general": noted}
    y = apply_layer("nn/multi_head_attention", given, named, x)[0]
    assert shapes == [(8, 8)] * 4
    assert_close(y, apply_layer("nn/multi_head_attention", hyper, named, x)[0], y.dtype)


def convolved_in_eight_bits(x, kernel, *arguments, **options):
    """A convolution of operands that are rounded to an 8-bit float, in their dtype again."""
    narrow = [v.astype(jnp.float8_e4m3fn).astype(v.dtype) for v in (x, kernel)]
    return lax.conv_general_dilated(*narrow, *arguments, **options)


def test_a_convolution_of_ones_own_is_that_of_flax(dtype):
    """It gets what that of jax gets, strides, padding and groups among it."""
    options = {"strides": (2, 1), "padding": ((1, 0), (2, 1)), "use_bias": True}
    module = nn.Conv(
        6,
        (3, 2),
        conv_general_dilated=convolved_in_eight_bits,
        kernel_dilation=2,
        feature_group_count=2,
        dtype=dtype,
        param_dtype=dtype,
        precision="highest",
        **options,
    )
    hyper = {"spatial_dims": 2, "in_channels": 4, "out_channels": 6}
    hyper |= {"kernel_size": (3, 2), "dilation": 2, "groups": 2, "channel_last": True}
    hyper |= {"precision": "highest", **options}
    weights = {"kernel": draw(0, (3, 2, 2, 6), dtype), "bias": draw(1, (6,), dtype)}

    def ours(weights, x, **given):
        named = {**weights, "kernel": jnp.moveaxis(weights["kernel"], -1, 0)}
        return apply_layer("nn/conv", {**hyper, **given}, named, x)[0]

    def narrow(weights, x):
        return ours(weights, x, conv_general_dilated=convolved_in_eight_bits)

    def theirs(weights, x):
        return module.apply({"params": weights}, x)

    x = draw(2, (2, 7, 6, 4), dtype)
    assert_parity(narrow, theirs, dtype, weights, x)
    error = np.abs(numpy(narrow(weights, x)) - numpy(ours(weights, x))).max()
    assert 1e-3 < error < 1.0


@pytest.mark.parametrize("name", ["bias", "scaler"])
@pytest.mark.parametrize(
    ("hyper", "shape", "dims"),
    [
        ({"features": 3, "spatial_dims": 2}, (2, 3, 4, 5), [1]),
        ({"features": 5, "leading_features": (3, 4)}, (2, 3, 4, 5), [1, 2, 3]),
        (
            {"features": 4, "leading_features": (3,), "spatial_dims": 1},
            (2, 3, 4, 5),
            [1, 2],
        ),
    ],
    ids=str,
)
def test_bias_and_scaler_of_other_axes(name, hyper, shape, dims, dtype):
    """A bias as of haiku, and a scale as it would be."""
    weight = draw(0, tuple(shape[d] for d in dims), dtype)
    field = {"bias": "bias", "scaler": "scale"}[name]

    def shifted(x):
        return hk.Bias(bias_dims=dims)(x)

    bias = hk.without_apply_rng(hk.transform(shifted))

    def theirs(weight, x):
        wide = weight.reshape([s if d in dims else 1 for d, s in enumerate(shape)][1:])
        if name == "scaler":
            return x * wide
        return bias.apply({"bias": {"b": wide}}, x)

    assert_parity(
        lambda w, x: apply_layer(f"nn/{name}", hyper, {field: w}, x)[0],
        theirs,
        dtype,
        weight,
        draw(1, shape, dtype),
    )
