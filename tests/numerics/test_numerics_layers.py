"""Layers against NumPy in float64, and against flax with gradients."""

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer
from numerics_arrays import (
    assert_close,
    assert_same_vjp,
    compiled,
    draw,
    numpy,
    reference,
)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
def test_linear(batch, dtype):
    weights = {"kernel": draw(0, (4, 3), dtype), "bias": draw(1, (3,), dtype)}
    x = draw(2, (*batch, 4), dtype)
    hyper = {"in_features": 4, "out_features": 3, "precision": "highest"}
    y, _ = apply_layer("nn/linear", hyper, weights, x)
    w, a = numpy((weights, x))
    assert_close(y, a @ w["kernel"] + w["bias"], dtype)
    module = nn.Dense(3, dtype=dtype, param_dtype=dtype, precision="highest")
    assert_same_vjp(
        lambda w, x: apply_layer("nn/linear", hyper, w, x)[0],
        lambda w, x: module.apply({"params": w}, x),
        (weights, x),
        dtype,
    )


def test_bias_and_scaler(dtype):
    b, x = draw(0, (4,), dtype), draw(1, (3, 4), dtype)
    y, _ = apply_layer("nn/bias", {"features": 4}, {"bias": b}, x)
    assert_close(y, numpy(x) + numpy(b), dtype)
    y, _ = apply_layer("nn/scaler", {"features": 4}, {"scale": b}, x)
    assert_close(y, numpy(x) * numpy(b), dtype)


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("channel_last", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strides": 2, "padding": "VALID"},
        {"dilation": 2, "padding": 1},
        {"groups": 2, "padding": "SAME"},
    ],
    ids=str,
)
def test_conv(spatial, channel_last, options, dtype):
    size = tuple(range(7, 7 + spatial))
    hyper = {
        "spatial_dims": spatial,
        "in_channels": 4,
        "out_channels": 6,
        "kernel_size": 3,
        "channel_last": channel_last,
        "precision": "highest",
        **options,
    }
    inner = 4 // options.get("groups", 1)
    # flax: spatial axes first, then the channels in, then out; x is channel-last.
    kernel, bias = draw(0, (3,) * spatial + (inner, 6), dtype), draw(1, (6,), dtype)
    x = draw(2, (2, *size, 4), dtype)
    padding = options.get("padding", "SAME")
    module = nn.Conv(
        6,
        (3,) * spatial,
        strides=options.get("strides", 1),
        padding=padding,
        kernel_dilation=options.get("dilation", 1),
        feature_group_count=options.get("groups", 1),
        dtype=dtype,
        param_dtype=dtype,
        precision="highest",
    )

    def ours(w, x):
        kernel = jnp.moveaxis(w["kernel"], -1, 0)
        kernel = kernel if channel_last else jnp.moveaxis(kernel, -1, 1)
        x = x if channel_last else jnp.moveaxis(x, -1, 1)
        own = {"kernel": kernel, "bias": w["bias"]}
        y, _ = apply_layer("nn/conv", hyper, own, x)
        return y if channel_last else jnp.moveaxis(y, 1, -1)

    weights = {"kernel": kernel, "bias": bias}
    assert_same_vjp(
        ours, lambda w, x: module.apply({"params": w}, x), (weights, x), dtype
    )


@pytest.mark.parametrize("channel_last", [False, True])
def test_batch_norm(channel_last, dtype):
    hyper = {"channels": 4, "channel_last": channel_last, "momentum": 0.8}
    weights = {"scale": draw(0, (4,), dtype), "bias": draw(1, (4,), dtype)}
    states = {"mean": draw(2, (4,), dtype), "var": draw(3, (4,), dtype) ** 2}
    x = draw(4, (5, 6, 4), dtype) + 3.0
    given = x if channel_last else jnp.moveaxis(x, -1, 1)
    module = nn.BatchNorm(
        momentum=0.8, dtype=dtype, param_dtype=dtype, use_fast_variance=False
    )
    variables = {"params": weights, "batch_stats": states}
    for training in (True, False):

        @functools.partial(compiled, dtype=dtype)
        def both(given, x, training=training):
            ours = apply_layer(
                "nn/batch_norm", hyper, weights, given, states=states, training=training
            )
            return ours, module.apply(
                variables, x, use_running_average=not training, mutable=["batch_stats"]
            )

        (y, new), (expected, updated) = both(given, x)
        y = y if channel_last else jnp.moveaxis(y, 1, -1)
        assert_close(y, expected, dtype)
        assert_close(new, dict(updated["batch_stats"]), dtype)
    assert_same_vjp(
        lambda w, x: apply_layer(
            "nn/batch_norm",
            {"channels": 4, "channel_last": True},
            w,
            x,
            states=states,
            training=True,
        )[0],
        lambda w, x: module.apply(
            {"params": w, "batch_stats": states},
            x,
            use_running_average=False,
            mutable=["batch_stats"],
        )[0],
        (weights, x),
        dtype,
    )


def test_batch_norm_averages_over_devices(dtype):
    hyper = {"channels": 2, "channel_last": True, "axis_name": "devices"}
    weights = {"scale": draw(0, (2,), dtype), "bias": draw(1, (2,), dtype)}
    states = {"mean": jnp.zeros(2, dtype), "var": jnp.ones(2, dtype)}
    x = draw(2, (3, 5, 2), dtype)

    def run(hyper, x):
        return apply_layer(
            "nn/batch_norm", hyper, weights, x, states=states, training=True
        )

    def apart(x):
        return jax.vmap(lambda x: run(hyper, x), axis_name="devices")(x)

    def together(x):
        return run({**hyper, "axis_name": None}, x.reshape(15, 2))

    y, new = compiled(apart, dtype)(x)
    whole, expected = reference(together)(x)
    assert_close(y.reshape(15, 2), whole, dtype)
    assert_close(jax.tree.map(lambda s: s[0], new), expected, dtype)


def test_embed(dtype):
    table, x = draw(0, (5, 3), dtype), jnp.array([[0, 4], [2, 2]])
    hyper, weights = {"entries": 5, "features": 3}, {"embedding": table}
    y, _ = apply_layer("nn/embed", hyper, weights, x)
    assert_close(y, numpy(table)[np.asarray(x)], dtype)
    query = draw(1, (2, 3), dtype)
    logits, _ = apply_layer("nn/embed", hyper, weights, query, entry="attend")
    assert_close(logits, numpy(query) @ numpy(table).T, dtype)


def test_lstm_cell(dtype):
    weights = {
        "kernel": draw(0, (4, 12), dtype),
        "recurrent_kernel": draw(1, (3, 12), dtype),
        "bias": draw(2, (12,), dtype),
    }
    c, h, x = (
        draw(s, shape, dtype) for s, shape in ((3, (2, 3)), (4, (2, 3)), (5, (2, 4)))
    )
    hyper = {"in_features": 4, "features": 3}

    def ours(weights, x):
        return apply_layer("nn/lstm_cell", hyper, weights, x)[0]

    y, carry = compiled(ours, dtype)(weights, (x, (c, h)))
    w, xs, cs, hs = numpy((weights, x, c, h))
    gates = xs @ w["kernel"] + hs @ w["recurrent_kernel"] + w["bias"]
    i, f, g, o = np.split(gates, 4, axis=-1)
    new_c = sigmoid(f) * cs + sigmoid(i) * np.tanh(g)
    new_h = sigmoid(o) * np.tanh(new_c)
    assert_close((y, carry), (new_h, (new_c, new_h)), dtype)

    # flax names a Dense for each gate and source.
    parts = {}
    for index, gate in enumerate("ifgo"):
        columns = slice(3 * index, 3 * index + 3)
        parts[f"i{gate}"] = {"kernel": weights["kernel"][:, columns]}
        parts[f"h{gate}"] = {
            "kernel": weights["recurrent_kernel"][:, columns],
            "bias": weights["bias"][columns],
        }
    module = nn.LSTMCell(3, dtype=dtype, param_dtype=dtype)
    expected, _ = reference(module.apply)({"params": parts}, (c, h), x)
    assert_close(carry, expected, dtype)


def test_spectral_norm_finds_the_largest_singular_value(dtype):
    weight = draw(0, (6, 4), dtype)
    states = {"vector": draw(1, (4,), dtype)}
    hyper = {"features": 4, "iterations": 60}

    def run(weight, states):
        """In training, and in inference with the state that came of it."""
        given = "nn/spectral_norm", hyper, None, weight
        y, states = apply_layer(*given, states=states, training=True)
        return y, states, *apply_layer(*given, states=states)

    y, states, again, same = compiled(run, dtype)(weight, states)
    sigma = np.linalg.norm(numpy(weight), ord=2)
    assert_close(y, numpy(weight) / sigma, dtype)
    assert_close(again, numpy(weight) / sigma, dtype)
    assert_close(same, states, dtype)
