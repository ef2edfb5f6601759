"""Convolutions against flax, equinox and haiku, forward and gradients."""

import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer, functional, init_layer
from numerics_arrays import assert_close, draw, numpy
from numerics_parity import assert_parity

IN, OUT = 4, 6


def kernel_of_flax(kernel, channel_last):
    """(*size, in, out) to (out, in, *size), or (out, *size, in)."""
    kernel = jnp.moveaxis(kernel, -1, 0)
    return kernel if channel_last else jnp.moveaxis(kernel, -1, 1)


def applied(place, hyper, weights, x):
    """The layer for images whose channels are last, whatever it takes."""
    if hyper["channel_last"]:
        return apply_layer(place, hyper, weights, x)[0]
    axis = -1 - hyper["spatial_dims"]
    y, _ = apply_layer(place, hyper, weights, jnp.moveaxis(x, -1, axis))
    return jnp.moveaxis(y, axis, -1)


CONV = {
    "no batch": ({}, {}, (), (7,)),
    "many batch axes": ({}, {}, (2, 1, 2), (5, 4)),
    "strides": ({"strides": 2, "padding": "VALID"}, {"strides": 2}, (2,), (7, 6)),
    "pairs": ({"padding": ((0, 2), (1, 0))}, {}, (2,), (5, 4)),
    "groups": ({"groups": 2, "dilation": 2}, {}, (2,), (7,)),
    "input dilation": ({"input_dilation": 3, "padding": 1}, {}, (2,), (4, 3)),
    "causal": ({"padding": "CAUSAL", "dilation": 2}, {}, (2,), (7,)),
    "circular": (
        {"padding": 1, "padding_mode": "circular"},
        {"padding": "CIRCULAR"},
        (2,),
        (5, 4),
    ),
    "reflect": (
        {"padding": 1, "padding_mode": "reflect", "strides": 2},
        {"padding": "REFLECT"},
        (2,),
        (5, 4),
    ),
    "three axes, no bias": ({"use_bias": False}, {}, (1,), (3, 4, 3)),
}
NAMES = {
    "dilation": "kernel_dilation",
    "groups": "feature_group_count",
    "strides": "strides",
    "padding": "padding",
    "input_dilation": "input_dilation",
    "use_bias": "use_bias",
}


@pytest.mark.parametrize("name", CONV)
def test_conv(name, dtype):
    ours, theirs, batch, size = CONV[name]
    channel_last = len(name) % 2 == 0
    hyper = {
        "spatial_dims": len(size),
        "in_channels": IN,
        "out_channels": OUT,
        "kernel_size": 3,
        "channel_last": channel_last,
        "precision": "highest",
        **ours,
    }
    options = {NAMES[k]: v for k, v in ours.items() if k in NAMES} | theirs
    module = nn.Conv(
        OUT,
        (3,) * len(size),
        dtype=dtype,
        param_dtype=dtype,
        precision="highest",
        **options,
    )
    inner = IN // ours.get("groups", 1)
    weights = {"kernel": draw(0, (3,) * len(size) + (inner, OUT), dtype)}
    if ours.get("use_bias", True):
        weights["bias"] = draw(1, (OUT,), dtype)

    def own(w, x):
        kernel = kernel_of_flax(w["kernel"], channel_last)
        return applied("nn/conv", hyper, {**w, "kernel": kernel}, x)

    assert_parity(
        own,
        lambda w, x: module.apply({"params": w}, x),
        dtype,
        weights,
        draw(2, (*batch, *size, IN), dtype),
    )


@pytest.mark.parametrize("mode", ["replicate", "circular", "reflect"])
def test_conv_as_of_equinox(mode, dtype):
    """With paddings of strings, which are those of zeros."""
    kernel, x = draw(0, (OUT, IN, 3), dtype), draw(1, (IN, 8), dtype)
    options = {"padding": "SAME", "dilation": 2}
    module = eqx.nn.Conv1d(
        IN,
        OUT,
        3,
        use_bias=False,
        padding_mode=mode.upper(),
        key=jax.random.key(0),
        **options,
    )
    hyper = {"spatial_dims": 1, "in_channels": IN, "out_channels": OUT}
    hyper |= {"kernel_size": 3, "use_bias": False, "padding_mode": mode, **options}
    assert_parity(
        lambda k, x: apply_layer("nn/conv", hyper, {"kernel": k}, x)[0],
        lambda k, x: eqx.tree_at(lambda m: m.weight, module, k)(x),
        dtype,
        kernel,
        x,
    )


def test_conv_of_a_dilated_input_that_is_not_padded_with_zeros(dtype):
    kernel, x = draw(0, (2, 1, 3), dtype), draw(1, (1, 4), dtype)
    options = {"spatial_dims": 1, "padding": 1}
    y = functional("conv")(
        x, kernel, input_dilation=2, padding_mode="circular", **options
    )
    dilated = np.zeros((1, 7))
    dilated[:, ::2] = numpy(x)
    padded = np.pad(dilated, ((0, 0), (1, 1)), mode="wrap")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 3, axis=1)
    assert_close(y, np.einsum("iwk,oik->ow", windows, numpy(kernel)), dtype)


@pytest.mark.parametrize(
    ("options", "flip", "batch", "channel_last"),
    [
        ({"padding": "SAME", "strides": 2}, False, (), False),
        ({"padding": "SAME", "strides": 3, "kernel_size": 2}, False, (2, 1), True),
        ({"padding": "VALID", "strides": 3, "kernel_size": 2}, False, (2,), False),
        ({"padding": "VALID", "dilation": 2}, True, (2,), True),
        ({"padding": "CIRCULAR", "strides": 2}, True, (2,), True),
        ({"padding": "CIRCULAR", "strides": 2, "dilation": 2}, False, (2,), False),
    ],
    ids=str,
)
def test_conv_transpose_as_of_flax(options, flip, batch, channel_last, dtype):
    k = options.get("kernel_size", 3)
    hyper = {
        "spatial_dims": 2,
        "in_channels": IN,
        "out_channels": OUT,
        "kernel_size": k,
        "channel_last": channel_last,
        "flip_kernel": flip,
        "precision": "highest",
        **options,
    }
    if options["padding"] == "CIRCULAR":
        # Where it flips the kernel, flax pads as its Conv does, whatever the strides.
        padding = {"padding": 1, "output_padding": 1} if flip else {"padding": "SAME"}
        hyper |= {**padding, "padding_mode": "circular"}
    module = nn.ConvTranspose(
        OUT,
        (k, k),
        strides=(options.get("strides", 1),) * 2,
        padding=options["padding"],
        kernel_dilation=options.get("dilation", 1),
        transpose_kernel=flip,
        dtype=dtype,
        param_dtype=dtype,
        precision="highest",
    )
    weights = {
        "kernel": draw(0, (k, k, IN, OUT), dtype),
        "bias": draw(1, (OUT,), dtype),
    }

    def own(w, x):
        kernel = kernel_of_flax(w["kernel"], channel_last)
        return applied("nn/conv_transpose", hyper, {**w, "kernel": kernel}, x)

    def theirs(w, x):
        kernel = w["kernel"].swapaxes(-1, -2) if flip else w["kernel"]
        return module.apply({"params": {**w, "kernel": kernel}}, x)

    assert_parity(own, theirs, dtype, weights, draw(2, (*batch, 5, 4, IN), dtype))


@pytest.mark.parametrize(
    "options",
    [
        {"padding": 1, "stride": 2, "output_padding": 1},
        {"padding": ((0, 1), (2, 1)), "dilation": 2, "groups": 2},
        {"padding": 0, "stride": 3, "kernel_size": 2},
        {"padding": "SAME_LOWER", "stride": 2, "kernel_size": (3, 2)},
        {"padding": "SAME", "padding_mode": "CIRCULAR", "stride": 2},
    ],
    ids=str,
)
def test_conv_transpose_as_of_equinox(options, dtype):
    groups, size = options.get("groups", 1), options.get("kernel_size", 3)
    given = {"kernel_size": 3, **options}
    module = eqx.nn.ConvTranspose2d(
        IN, OUT, use_bias=False, key=jax.random.key(0), **given
    )
    size = (size, size) if isinstance(size, int) else size
    hyper = {"spatial_dims": 2, "in_channels": IN, "out_channels": OUT, **given}
    hyper |= {"strides": hyper.pop("stride", 1), "use_bias": False}
    hyper["padding_mode"] = hyper.get("padding_mode", "zeros").lower()
    assert_parity(
        lambda k, x: apply_layer("nn/conv_transpose", hyper, {"kernel": k}, x)[0],
        lambda k, x: eqx.tree_at(lambda m: m.weight, module, k)(x),
        dtype,
        draw(0, (OUT, IN // groups, *size), dtype),
        draw(1, (IN, 5, 4), dtype),
    )


def test_conv_transpose_is_the_gradient_of_conv(dtype):
    kernel, x = draw(0, (OUT, IN, 3), dtype), draw(1, (IN, 9), dtype)
    options = {"spatial_dims": 1, "kernel_size": 3, "strides": 2, "padding": 1}
    options |= {"use_bias": False, "dilation": 2}
    forward = {"in_channels": IN, "out_channels": OUT, **options}
    back = {"in_channels": OUT, "out_channels": IN, "flip_kernel": True, **options}
    y, gradient = jax.vjp(
        lambda x: apply_layer("nn/conv", forward, {"kernel": kernel}, x)[0], x
    )
    weights = {"kernel": kernel.swapaxes(0, 1)}
    transposed, _ = apply_layer("nn/conv_transpose", back, weights, y)
    assert_close(transposed, gradient(y)[0], dtype)


def test_causal_conv_transpose_looks_ahead_at_nothing(dtype):
    hyper = {"spatial_dims": 1, "in_channels": 2, "out_channels": 3, "kernel_size": 5}
    hyper |= {"strides": 2, "padding": "CAUSAL", "use_bias": False}
    weights = {"kernel": draw(0, (3, 2, 5), dtype)}
    x = draw(1, (2, 6), dtype)
    y, _ = apply_layer("nn/conv_transpose", hyper, weights, x)
    changed, _ = apply_layer("nn/conv_transpose", hyper, weights, x.at[:, 3:].set(7.0))
    assert y.shape == (3, 12)
    assert_close(changed[:, :6], y[:, :6], dtype)
    assert not np.allclose(changed[:, 6], y[:, 6])


@pytest.mark.parametrize(
    ("ours", "padding", "batch", "channel_last"),
    [
        ({"padding": "SAME", "strides": 2}, "SAME", (), True),
        ({"padding": ((1, 0), (0, 2)), "dilation": 2}, ((1, 0), (0, 2)), (2, 2), False),
        ({"padding": 1, "padding_mode": "circular"}, "CIRCULAR", (2,), False),
    ],
    ids=str,
)
def test_conv_local(ours, padding, batch, channel_last, dtype):
    hyper = {
        "spatial_dims": 2,
        "in_channels": 2,
        "out_channels": 3,
        "input_size": (6, 5),
        "kernel_size": 3,
        "channel_last": channel_last,
        "precision": "highest",
        **ours,
    }
    module = nn.ConvLocal(
        3,
        (3, 3),
        strides=ours.get("strides", 1),
        padding=padding,
        kernel_dilation=ours.get("dilation", 1),
        dtype=dtype,
        param_dtype=dtype,
        precision="highest",
    )
    x = draw(2, (*batch, 6, 5, 2), dtype)
    shapes = jax.eval_shape(module.init, jax.random.key(0), x)["params"]
    weights = {n: draw(0, s.shape, dtype) for n, s in shapes.items()}

    def own(w, x):
        # (*output_size, patch, out)
        kernel, bias = jnp.moveaxis(w["kernel"], -1, 0), w["bias"]
        if not channel_last:
            kernel, bias = jnp.moveaxis(kernel, -1, 1), jnp.moveaxis(bias, -1, 0)
        return applied("nn/conv_local", hyper, {"kernel": kernel, "bias": bias}, x)

    assert_parity(own, lambda w, x: module.apply({"params": w}, x), dtype, weights, x)


def haiku(make):
    """A function of (parameters, x) that applies the module that `make` creates."""

    def run(x):
        module = make()
        return module(x)

    return hk.without_apply_rng(hk.transform(run)).apply


@pytest.mark.parametrize(
    ("options", "channel_last"),
    [
        ({}, False),
        ({"padding": "VALID", "strides": 2}, True),
        ({"dilation": 2, "padding": 1}, False),
    ],
    ids=str,
)
def test_depthwise_conv(options, channel_last, dtype):
    hyper = {"spatial_dims": 2, "channels": 3, "kernel_size": (3, 2)}
    hyper |= {"channel_multiplier": 2, "channel_last": channel_last, **options}
    padding = options.get("padding", "SAME")
    apply = haiku(
        lambda: hk.DepthwiseConv2D(
            2,
            (3, 2),
            stride=options.get("strides", 1),
            rate=options.get("dilation", 1),
            padding=padding if isinstance(padding, str) else [(1, 1), (1, 1)],
        )
    )

    def own(w, b, x):
        weights = {"kernel": kernel_of_flax(w, channel_last), "bias": b}
        return applied("nn/depthwise_conv", hyper, weights, x)

    assert_parity(
        own,
        lambda w, b, x: apply({"depthwise_conv2_d": {"w": w, "b": b}}, x),
        dtype,
        draw(0, (3, 2, 1, 6), dtype),
        draw(1, (6,), dtype),
        draw(2, (2, 6, 5, 3), dtype),
    )


@pytest.mark.parametrize("channel_last", [False, True])
def test_separable_conv(channel_last, dtype):
    hyper = {"spatial_dims": 2, "in_channels": 3, "out_channels": 4, "kernel_size": 3}
    hyper |= {"channel_multiplier": 2, "strides": 2, "channel_last": channel_last}

    def parts():
        depthwise = hk.DepthwiseConv2D(2, 3, stride=2, with_bias=False, name="first")
        return hk.Sequential([depthwise, hk.Conv2D(4, 1, name="second")])

    def own(first, second, bias, x):
        kernels = (kernel_of_flax(kernel, channel_last) for kernel in (first, second))
        depthwise, pointwise = kernels
        weights = {
            "depthwise": {"kernel": depthwise},
            "pointwise": {"kernel": pointwise, "bias": bias},
        }
        return applied("nn/separable_conv", hyper, weights, x)

    apply = haiku(parts)
    assert_parity(
        own,
        lambda a, b, c, x: apply({"first": {"w": a}, "second": {"w": b, "b": c}}, x),
        dtype,
        draw(0, (3, 3, 1, 6), dtype),
        draw(1, (1, 1, 6, 4), dtype),
        draw(2, (4,), dtype),
        draw(3, (2, 6, 5, 3), dtype),
    )


@pytest.mark.parametrize("place", ["nn/conv", "nn/conv_transpose", "nn/separable_conv"])
def test_empty_batches(place):
    hyper = {"spatial_dims": 1, "in_channels": 2, "out_channels": 3, "kernel_size": 3}
    trainables, _, hyperparams = init_layer(place, hyper, jax.random.key(0), "float32")
    x = jnp.ones((2, 0, 2, 5), jnp.bfloat16)
    y, _ = hyperparams.apply(x, trainables, None)
    assert y.shape == (2, 0, 3, 5)
    assert y.dtype == jnp.bfloat16
