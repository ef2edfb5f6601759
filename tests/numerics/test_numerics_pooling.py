"""Pooling against flax and equinox, forward and gradients, and at the edges."""

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numerics_adapter import apply_layer, functional
from numerics_arrays import assert_close, draw, numpy
from numerics_parity import assert_parity


def layer(place, hyper):
    return lambda x: apply_layer(place, hyper, None, x)[0]


@pytest.mark.parametrize("name", ["max", "min", "avg"])
@pytest.mark.parametrize(
    ("options", "batch"),
    [
        ({"window": (3, 2), "strides": 2, "padding": "SAME"}, (2, 2)),
        ({"window": 3, "padding": ((0, 1), (2, 1))}, ()),
    ],
    ids=str,
)
def test_as_of_flax(name, options, batch, dtype):
    hyper = {"spatial_dims": 2, "channel_last": True, **options}
    window, strides = options["window"], options.get("strides", 1)
    given = {
        "window_shape": window if isinstance(window, tuple) else (window,) * 2,
        "strides": (strides,) * 2,
        "padding": options["padding"],
    }
    theirs = {"max": nn.max_pool, "min": nn.pooling.min_pool, "avg": nn.avg_pool}[name]
    x = draw(0, (*batch, 6, 5, 3), dtype)
    assert_parity(
        layer(f"nn/{name}_pool", hyper), lambda x: theirs(x, **given), dtype, x
    )


def test_avg_pool_that_does_not_count_padding(dtype):
    options = {"padding": "SAME", "count_include_pad": False}
    hyper = {"spatial_dims": 2, "window": 3, "channel_last": True, **options}
    assert_parity(
        layer("nn/avg_pool", hyper),
        lambda x: nn.avg_pool(x, (3, 3), **options).astype(dtype),  # it widens
        dtype,
        draw(0, (2, 5, 4, 3), dtype),
    )


@pytest.mark.parametrize("name", ["max", "avg"])
def test_ceil_mode_as_of_equinox(name, dtype):
    module = {"max": eqx.nn.MaxPool2d, "avg": eqx.nn.AvgPool2d}[name]
    theirs = module(3, 2, ((1, 0), (0, 1)), use_ceil=True)
    hyper = {"spatial_dims": 2, "window": 3, "strides": 2, "ceil_mode": True}
    hyper |= {"padding": ((1, 0), (0, 1))}
    x = draw(0, (3, 7, 6), dtype)
    assert_parity(layer(f"nn/{name}_pool", hyper), theirs, dtype, x)


def windows(x, size, dilation):
    """Dilated windows of the last axis, by NumPy."""
    starts = range(x.shape[-1] - (size - 1) * dilation)
    return np.stack([x[..., s : s + size * dilation : dilation] for s in starts], -2)


@pytest.mark.parametrize("name", ["max", "min", "sum", "avg"])
def test_dilation(name, dtype):
    hyper = {"spatial_dims": 1, "window": 3, "dilation": 2}
    x = draw(0, (2, 3, 9), dtype)
    parts = windows(numpy(x), 3, 2)
    reduce = {"max": np.max, "min": np.min, "sum": np.sum, "avg": np.mean}[name]
    y, gradient = jax.vjp(jax.jit(layer(f"nn/{name}_pool", hyper)), x)
    assert_close(y, reduce(parts, -1), dtype)
    # Each window hands its cotangent to the elements that it is made of.
    cotangent = draw(1, y.shape, dtype)
    if name in ("max", "min"):
        chosen = (parts == reduce(parts, -1, keepdims=True)).astype(float)
    else:
        chosen = np.full(parts.shape, 1.0 if name == "sum" else 1 / 3)
    expected = np.zeros(x.shape)
    for start, offset in np.ndindex(5, 3):
        share = chosen[..., start, offset] * numpy(cotangent)[..., start]
        expected[..., start + 2 * offset] += share
    assert_close(gradient(cotangent)[0], expected, dtype)


@pytest.mark.parametrize("name", ["max", "min", "sum", "avg"])
def test_layers_are_the_functions(name, dtype):
    hyper = {"spatial_dims": 1, "window": 2, "strides": 2, "padding": ((1, 0),)}
    x = draw(0, (2, 6), dtype)
    y = layer(f"nn/{name}_pool", hyper)(x)
    assert_close(functional(f"{name}_pool")(x, **hyper), y, dtype)


@pytest.mark.parametrize("name", ["max", "avg"])
@pytest.mark.parametrize("output_size", [(3, 2), (7, 1)])
def test_adaptive_as_of_equinox(name, output_size, dtype):
    module = {"max": eqx.nn.AdaptiveMaxPool2d, "avg": eqx.nn.AdaptiveAvgPool2d}[name]
    hyper = {"spatial_dims": 2, "output_size": output_size}
    x = draw(0, (3, 7, 6), dtype)
    place = f"nn/adaptive_{name}_pool"
    assert_parity(layer(place, hyper), module(output_size), dtype, x)
    last = {**hyper, "channel_last": True}
    y = layer(place, last)(jnp.moveaxis(x, 0, -1))
    assert_close(jnp.moveaxis(y, -1, 0), layer(place, hyper)(x), dtype)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("channel_last", [False, True])
@pytest.mark.parametrize("name", ["max", "avg"])
def test_global(name, channel_last, keepdims, dtype):
    hyper = {"spatial_dims": 2, "channel_last": channel_last, "keepdims": keepdims}
    axes = (-3, -2) if channel_last else (-2, -1)
    reduce = {"max": jnp.max, "avg": jnp.mean}[name]
    assert_parity(
        layer(f"nn/global_{name}_pool", hyper),
        lambda x: reduce(x, axes, keepdims=keepdims),
        dtype,
        draw(0, (2, 3, 4, 5), dtype),
    )


@pytest.mark.parametrize("dilation", [1, 2])
def test_gradients_of_equal_elements_add_up(dilation, dtype):
    hyper = {"spatial_dims": 1, "window": 3, "dilation": dilation}
    x = jnp.zeros((8,), dtype)
    gradient = jax.jit(jax.grad(lambda x: layer("nn/max_pool", hyper)(x).sum()))(x)
    assert_close(gradient.sum(), jnp.asarray(8 - 2 * dilation, dtype), dtype)
    assert (gradient >= 0).all()


def test_means_of_large_elements_are_finite():
    x = jnp.full((1, 4, 4), 1e4, jnp.float16)
    for count_include_pad in (True, False):
        hyper = {"spatial_dims": 2, "window": 3, "count_include_pad": count_include_pad}
        y = layer("nn/avg_pool", hyper)(x)
        np.testing.assert_allclose(np.asarray(y, np.float64), 1e4, rtol=4e-3)


@pytest.mark.parametrize(
    ("place", "options"),
    [
        ("nn/max_pool", {"window": 2}),
        ("nn/avg_pool", {"window": 2, "padding": 1, "count_include_pad": False}),
        ("nn/adaptive_max_pool", {"output_size": 2}),
        ("nn/global_max_pool", {}),
    ],
)
def test_empty_batches(place, options):
    x = jnp.zeros((0, 3, 4, 4), jnp.bfloat16)

    @jax.jit
    def both(x):
        y, gradient = jax.vjp(layer(place, {"spatial_dims": 2, **options}), x)
        return y, *gradient(y)

    y, slopes = both(x)
    assert y.shape[:2] == (0, 3)
    assert slopes.shape == x.shape


@pytest.mark.parametrize("name", ["max", "min", "sum", "avg"])
@pytest.mark.parametrize("padding", ["SAME", ((1, 2), (0, 1))], ids=str)
def test_a_dilated_input(name, padding, dtype):
    """Elements with others between them, of which there are none: by NumPy."""
    hyper = {"spatial_dims": 2, "window": 3, "strides": (1, 2), "padding": padding}
    x = draw(0, (2, 4, 3), dtype)
    empty = {"max": -np.inf, "min": np.inf}.get(name, 0.0)
    reduce = {"max": np.max, "min": np.min, "sum": np.sum, "avg": np.mean}[name]
    spread = np.full((2, 7, 7), empty)
    spread[:, ::2, ::3] = numpy(x)
    pairs = ((1, 1), (1, 1)) if padding == "SAME" else padding
    wide = np.pad(spread, ((0, 0), *pairs), constant_values=empty)
    parts = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (1, 2))[:, :, ::2]
    given = {**hyper, "input_dilation": (2, 3)}
    y = jax.jit(layer(f"nn/{name}_pool", given))(x)
    assert_close(y, reduce(parts, (-2, -1)), dtype)


def test_a_mean_over_a_dilated_input_counts_what_is_there(dtype):
    x = draw(0, (4,), dtype)
    hyper = {"spatial_dims": 1, "window": 3, "padding": 1, "input_dilation": 2}
    y = layer("nn/avg_pool", {**hyper, "count_include_pad": False})(x)
    a = numpy(x)
    expected = np.empty(7)
    expected[::2], expected[1::2] = a, (a[1:] + a[:-1]) / 2
    assert_close(y, expected, dtype)


def test_what_a_dilated_input_is_refused_for():
    hyper = {"spatial_dims": 1, "window": 2, "input_dilation": 3}
    with pytest.raises(ValueError, match="must reach from element to element"):
        layer("nn/max_pool", hyper)(jnp.ones(5))
    with pytest.raises(ValueError, match="dilation of the window or of the input"):
        layer("nn/max_pool", {**hyper, "window": 3, "dilation": 2})(jnp.ones(5))


@pytest.mark.parametrize(
    "options",
    [
        {"window": (3, 2), "strides": 2, "padding": "SAME"},
        {"window": 5, "padding": 3, "dilation": (1, 2), "input_dilation": (3, 1)},
        {"window": (1, 4), "padding": ((0, 0), (2, 1)), "strides": (2, 3)},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("reduction", "initial"),
    [(jnp.logaddexp, -1e30), (lax.mul, 1.0), (lax.max, -np.inf), (lax.min, np.inf)],
    ids=["logaddexp", "mul", "max", "min"],
)
def test_any_reduction_as_of_lax(reduction, initial, options, dtype):
    hyper = {"spatial_dims": 2, "channel_last": True, **options}
    wide = {
        name: (1, *(v if isinstance(v, tuple) else (v, v)), 1)
        for name, v in options.items()
        if name != "padding"
    }
    padding = options["padding"]
    if padding == 3:
        padding = ((3, 3), (3, 3))
    if padding != "SAME":
        padding = ((0, 0), *padding, (0, 0))
    x = draw(0, (2, 6, 7, 3), dtype)
    y = functional("reduce_windows")(x, reduction=reduction, initial=initial, **hyper)
    expected = lax.reduce_window(
        x,
        x.dtype.type(initial),
        reduction,
        wide["window"],
        wide.get("strides", (1, 1, 1, 1)),
        padding,
        wide.get("input_dilation"),
        wide.get("dilation"),
    )
    assert_close(y, expected, dtype)


def test_the_gradient_of_any_reduction(dtype):
    """A soft maximum hands the gradient on by the softmax of each window."""
    x = draw(0, (7,), dtype)
    hyper = {"reduction": jnp.logaddexp, "initial": -1e30, "spatial_dims": 1}
    hyper |= {"window": 3, "strides": 2}
    assert_parity(
        lambda x: functional("reduce_windows")(x, **hyper),
        lambda x: jnp.stack([jax.nn.logsumexp(x[i : i + 3]) for i in (0, 2, 4)]),
        dtype,
        x,
    )


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
@pytest.mark.parametrize("name", ["max", "min", "sum"])
def test_integers_as_of_lax(name, dtype):
    """In their own dtype, with what its numbers end at as padding; sums are modulo that."""
    limits = jnp.iinfo(dtype)
    x = np.random.default_rng(0).integers(limits.min // 2, limits.max, (2, 7, 6, 3))
    x = jnp.asarray(x, dtype)
    combine, initial = {
        "max": (lax.max, limits.min),
        "min": (lax.min, limits.max),
        "sum": (lax.add, 0),
    }[name]
    expected = lax.reduce_window(
        x,
        x.dtype.type(initial),
        combine,
        (1, 3, 2, 1),
        (1, 2, 1, 1),
        ((0, 0), (1, 1), (1, 0), (0, 0)),
        window_dilation=(1, 2, 1, 1),
    )
    hyper = {"spatial_dims": 2, "window": (3, 2), "strides": (2, 1), "dilation": (2, 1)}
    hyper |= {"padding": ((1, 1), (1, 0)), "channel_last": True}
    y = jax.jit(layer(f"nn/{name}_pool", hyper))(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("place", "options"),
    [("nn/adaptive_max_pool", {"output_size": 2}), ("nn/global_max_pool", {})],
)
def test_the_largest_integers(place, options):
    x = jnp.asarray([[-7, -3, -5, -9]], jnp.int8)
    y = layer(place, {"spatial_dims": 1, **options})(x)
    expected = [[-3, -5]] if options else [-3]
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, expected)


def test_integers_that_where_leaves_out():
    x = jnp.asarray([-7, -3, -5], jnp.int16)
    y = functional("max")(x, jnp.asarray([True, False, True]))
    assert (y.dtype, int(y)) == (x.dtype, -5)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (layer("nn/avg_pool", {"spatial_dims": 1, "window": 2}), TypeError),
        (
            layer("nn/adaptive_avg_pool", {"spatial_dims": 1, "output_size": 2}),
            TypeError,
        ),
        (
            lambda x: functional("pool")(x, reduction="avg", spatial_dims=1, window=2),
            ValueError,
        ),
        (
            lambda x: functional("adaptive_pool")(
                x, reduction="avg", spatial_dims=1, output_size=2
            ),
            ValueError,
        ),
    ],
)
def test_means_of_integers_say_what_to_do(call, error):
    with pytest.raises(error, match=r"cast .*x\.astype\(jnp\.float32\)"):
        call(jnp.arange(4))


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_adaptive_windows_of_fewer_elements_repeat_them(kind):
    # As PyTorch's: each window begins at `floor(i * size / windows)`.
    x = np.arange(6.0, dtype=np.float32).reshape(1, 3, 2)
    y = functional("adaptive_pool")(
        jnp.asarray(x), reduction=kind, spatial_dims=2, output_size=(6, 2)
    )
    np.testing.assert_array_equal(y, x.repeat(2, axis=1))
    with pytest.raises(ValueError, match="or be a multiple of it"):
        functional("adaptive_pool")(
            jnp.asarray(x), reduction=kind, spatial_dims=2, output_size=(4, 2)
        )
