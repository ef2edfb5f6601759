"""Normalization against flax, equinox and NumPy in float64, with gradients."""

import functools
from typing import Any

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer, functional
from numerics_arrays import assert_close, assert_same_vjp, draw, numpy

from mlax.nn import BatchNorm


def channel_first(x, channel_last):
    return x if channel_last else jnp.moveaxis(x, -1, 1)


def channels(names, dtype, size=6):
    return {
        n: draw(i, (size,), dtype)
        for i, n in enumerate(("scale", "bias"))
        if n in names
    }


PLACES = [(False, ("scale", "bias")), (True, ("scale",)), (True, ())]
AFFINE = [("scale", "bias"), ("bias",), ()]


@pytest.mark.parametrize(
    ("axis", "names"),
    [(-1, ("scale", "bias")), ((-2, -1), ("bias",)), (1, ())],
    ids=str,
)
def test_layer_norm(axis, names, dtype):
    weights, x = channels(names, dtype), draw(2, (2, 3, 6), dtype) + 2.0
    options: dict[str, Any] = {
        "use_scale": "scale" in names,
        "use_bias": "bias" in names,
    }
    module = nn.LayerNorm(
        epsilon=1e-5,
        dtype=dtype,
        param_dtype=dtype,
        reduction_axes=axis,
        use_fast_variance=False,
        **options,
    )
    hyper = {"features": 6, "axis": axis, **options}
    assert_same_vjp(
        lambda w, x: apply_layer("nn/layer_norm", hyper, w, x)[0],
        lambda w, x: module.apply({"params": w}, x),
        (weights, x),
        dtype,
    )


@pytest.mark.parametrize("axis", [-1, (-2, -1)], ids=str)
@pytest.mark.parametrize("use_scale", [True, False])
def test_rms_norm(axis, use_scale, dtype):
    weights = channels(("scale",) if use_scale else (), dtype)
    x = draw(2, (2, 3, 6), dtype)
    module = nn.RMSNorm(
        epsilon=1e-6,
        dtype=dtype,
        param_dtype=dtype,
        reduction_axes=axis,
        use_scale=use_scale,
    )
    hyper = {"features": 6, "axis": axis, "use_scale": use_scale}
    assert_same_vjp(
        lambda w, x: apply_layer("nn/rms_norm", hyper, w, x)[0],
        lambda w, x: module.apply({"params": w}, x),
        (weights, x),
        dtype,
    )


def test_rms_norm_with_a_bias_is_that_of_equinox(dtype):
    weights, x = channels(("scale", "bias"), dtype), draw(2, (6,), dtype)
    module = eqx.nn.RMSNorm(6, eps=1e-6, dtype=dtype)
    module = eqx.tree_at(
        lambda m: (m.weight, m.bias), module, (weights["scale"], weights["bias"])
    )
    hyper = {"features": 6, "use_bias": True}
    y, _ = apply_layer("nn/rms_norm", hyper, weights, x)
    assert_close(y, module(x), dtype)


@pytest.mark.parametrize(("channel_last", "names"), PLACES, ids=str)
def test_instance_norm(channel_last, names, dtype):
    weights, x = channels(names, dtype), draw(2, (2, 3, 4, 6), dtype)
    options: dict[str, Any] = {
        "use_scale": "scale" in names,
        "use_bias": "bias" in names,
    }
    module = nn.InstanceNorm(
        epsilon=1e-5,
        dtype=dtype,
        param_dtype=dtype,
        use_fast_variance=False,
        **options,
    )
    hyper = {"channels": 6, "channel_last": channel_last, **options}

    def ours(w, x):
        y, _ = apply_layer("nn/instance_norm", hyper, w, channel_first(x, channel_last))
        return y if channel_last else jnp.moveaxis(y, 1, -1)

    assert_same_vjp(
        ours, lambda w, x: module.apply({"params": w}, x), (weights, x), dtype
    )


@pytest.mark.parametrize(("channel_last", "names"), PLACES, ids=str)
def test_group_norm(channel_last, names, dtype):
    weights, x = channels(names, dtype), draw(2, (2, 3, 4, 6), dtype)
    options: dict[str, Any] = {
        "use_scale": "scale" in names,
        "use_bias": "bias" in names,
    }
    module = nn.GroupNorm(
        3,
        epsilon=1e-5,
        dtype=dtype,
        param_dtype=dtype,
        use_fast_variance=False,
        **options,
    )
    hyper = {"groups": 3, "channels": 6, "channel_last": channel_last, **options}

    def ours(w, x):
        y, _ = apply_layer("nn/group_norm", hyper, w, channel_first(x, channel_last))
        return y if channel_last else jnp.moveaxis(y, 1, -1)

    assert_same_vjp(
        ours, lambda w, x: module.apply({"params": w}, x), (weights, x), dtype
    )


@pytest.mark.parametrize("axis", [-1, (0, 2)], ids=str)
def test_z_norm(axis, dtype):
    x = draw(0, (2, 3, 6), dtype)
    ours = lambda x: apply_layer("nn/z_norm", {"axis": axis}, None, x)[0]  # noqa: E731

    def theirs(x):
        return jax.nn.standardize(x, axis=axis, epsilon=1e-5)

    assert_same_vjp(ours, theirs, (x,), dtype)
    a = numpy(x)
    wanted = (a - a.mean(axis, keepdims=True)) / np.sqrt(
        a.var(axis, keepdims=True) + 1e-5
    )
    assert_close(ours(x), wanted, dtype)


@pytest.mark.parametrize("shape", [(5, 6), (3, 2, 6)])
def test_weight_norm(shape, dtype):
    weights, kernel = channels(("scale",), dtype), draw(1, shape, dtype)
    # flax normalizes the weights of a layer as it creates them: here those of a product.
    x = draw(2, (4, *shape[:-1]), dtype)

    class Product(nn.Module):
        @nn.compact
        def __call__(self, x):
            kernel = self.param("kernel", nn.initializers.ones, shape, dtype)
            return jnp.tensordot(x, kernel, len(shape) - 1, precision="highest")

    module = nn.WeightNorm(Product(), epsilon=1e-30, param_dtype=dtype)

    def ours(w, kernel):
        y, _ = apply_layer("nn/weight_norm", {"features": 6}, w, kernel)
        return jnp.tensordot(x, y, len(shape) - 1, precision="highest")

    names = module.init(jax.random.key(0), x)["params"]

    def theirs(w, kernel):
        # Whatever flax calls them, their shapes tell them apart.
        shapes = {shape: kernel, (6,): w["scale"]}
        given = jax.tree.map(lambda leaf: shapes[leaf.shape], names)
        return module.apply({"params": given}, x)

    assert_same_vjp(ours, theirs, (weights, kernel), dtype)


def test_weight_norm_is_that_of_equinox(dtype):
    kernel, scale = draw(0, (4, 6), dtype), draw(1, (6,), dtype)
    y, _ = apply_layer("nn/weight_norm", {"features": 6}, {"scale": scale}, kernel)
    linear = eqx.nn.Linear(4, 6, use_bias=False, key=jax.random.key(0), dtype=dtype)
    linear = eqx.tree_at(lambda m: m.weight, linear, kernel.T)
    module = eqx.nn.WeightNorm(linear, weight_name="weight", axis=0)
    module = eqx.tree_at(lambda m: m.g, module, scale.reshape(module.g.shape))
    x = draw(2, (4,), dtype)
    with jax.default_matmul_precision("highest"):
        assert_close(x @ y, module(x), dtype)


def test_weights_whose_features_are_first():
    kernel, scale = draw(0, (6, 4, 3), "float32"), draw(1, (6,), "float32")
    vector = draw(2, (6,), "float32")

    @jax.jit
    def both(kernel):
        hyper = {"features": 6, "features_first": True}
        weights, states = {"scale": scale}, {"vector": vector}
        y, _ = apply_layer("nn/weight_norm", hyper, weights, kernel)
        return y, apply_layer(
            "nn/spectral_norm", hyper, None, kernel, states=states, training=True
        )

    scaled, (y, new) = both(kernel)
    matrix = numpy(kernel).reshape(6, -1)
    wanted = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    wanted = (wanted * numpy(scale)[:, None]).reshape(6, 4, 3)
    assert_close(scaled, wanted, "float32")
    u = matrix @ (matrix.T @ numpy(vector))
    u /= np.linalg.norm(u)
    assert_close(new["vector"], u, "float32")
    assert_close(y, numpy(kernel) / np.linalg.norm(u @ matrix), "float32")


SHARED = {
    "nn/layer_norm": {"features": 6, "axis": (-2, -1)},
    "nn/rms_norm": {"features": 6, "axis": (-2, -1)},
    "nn/instance_norm": {"channels": 6, "channel_last": True},
    "nn/group_norm": {"groups": 3, "channels": 6, "channel_last": True},
}


def test_moments_of_what_devices_share():
    """Half of an axis on each device is the whole axis on one, gradients included."""
    x, cotangent = (draw(i, (2, 8, 6), "float64") + 2.0 for i in (2, 3))

    def run(place, x, **options):
        names = ("scale",) if place == "nn/rms_norm" else ("scale", "bias")
        hyper, weights = {**SHARED[place], **options}, channels(names, "float64")
        return apply_layer(place, hyper, weights, x)[0]

    def shared(place, x):
        halves = jnp.stack(jnp.split(x, 2, 1))
        part = functools.partial(run, place, axis_name="devices")
        return jnp.concatenate(list(jax.vmap(part, axis_name="devices")(halves)), 1)

    @jax.jit
    def both(x):
        found = []
        for place in SHARED:
            for f in (shared, run):
                y, vjp = jax.vjp(functools.partial(f, place), x)
                found.append((y, vjp(cotangent)))
        return found[::2], found[1::2]

    first, second = both(x)
    assert_close(first, second, "float64")


def test_weight_norm_without_a_scale(dtype):
    kernel = draw(0, (4, 6), dtype)
    hyper = {"features": 6, "use_scale": False}
    y, _ = apply_layer("nn/weight_norm", hyper, {}, kernel)
    assert_close(y, numpy(kernel) / np.linalg.norm(numpy(kernel), axis=0), dtype)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("names", AFFINE, ids=str)
def test_batch_norm_with_any_weights(names, training, dtype):
    weights, x = channels(names, dtype, 4), draw(4, (5, 6, 4), dtype) + 3.0
    states = {"mean": draw(2, (4,), dtype), "var": draw(3, (4,), dtype) ** 2}
    options: dict[str, Any] = {
        "use_scale": "scale" in names,
        "use_bias": "bias" in names,
    }
    module = nn.BatchNorm(
        momentum=0.8, dtype=dtype, param_dtype=dtype, use_fast_variance=False, **options
    )
    hyper = {"channels": 4, "channel_last": True, "momentum": 0.8, **options}

    def ours(w, x):
        return apply_layer(
            "nn/batch_norm", hyper, w, x, states=states, training=training
        )

    def theirs(w, x):
        y, new = module.apply(
            {"params": w, "batch_stats": states},
            x,
            use_running_average=not training,
            mutable=["batch_stats"],
        )
        return y, dict(new["batch_stats"])

    assert_same_vjp(ours, theirs, (weights, x), dtype)


def test_batch_norm_averages_over_several_mapped_axes(dtype):
    weights, x = channels(("scale", "bias"), dtype, 2), draw(4, (3, 4, 5, 2), dtype)
    states = {"mean": jnp.zeros(2, dtype), "var": jnp.ones(2, dtype)}

    def run(axis_name, x):
        hyper = {"channels": 2, "channel_last": True, "axis_name": axis_name}
        return apply_layer(
            "nn/batch_norm", hyper, weights, x, states=states, training=True
        )

    def mapped(x):
        inner = jax.vmap(lambda x: run(["a", "b"], x), axis_name="b")
        return jax.vmap(inner, axis_name="a")(x)

    def first(x):
        y, new = mapped(x)
        return y, jax.tree.map(lambda s: s[0, 0], new)

    def whole(x):
        y, new = run(None, x.reshape(60, 2))
        return y.reshape(x.shape), new

    cotangent = (
        draw(5, x.shape, dtype),
        {"mean": jnp.zeros(2, dtype), "var": jnp.zeros(2, dtype)},
    )

    def both(x):
        results = [jax.vjp(f, x) for f in (first, whole)]
        return [(y, vjp(cotangent)) for y, vjp in results]

    actual, expected = jax.jit(both)(x)
    assert_close(actual, expected, dtype)


@pytest.mark.parametrize(
    ("half", "weights_dtype"),
    [("bfloat16", "float32"), ("bfloat16", "bfloat16"), ("float16", "float16")],
)
def test_averages_of_half_precision_do_not_stall(half, weights_dtype):
    trainables, state, hyper = BatchNorm.init(
        jax.random.key(0), 3, momentum=0.999, dtype=weights_dtype
    )
    assert state.mean.dtype == jnp.float32
    x = draw(0, (64, 3), half) + jnp.asarray(2.0, half)

    @jax.jit
    def train(state):
        def step(state, _):
            return BatchNorm.fwd(x, trainables, state, hyper)[1], None

        return jax.lax.scan(step, state, None, length=2000)[0]

    final = train(state)
    left = 0.999**2000
    a = numpy(x)
    mean, var = a.mean(0) * (1 - left), a.var(0) * (1 - left) + left
    np.testing.assert_allclose(final.mean, mean, rtol=3e-2)
    np.testing.assert_allclose(final.var, var, rtol=5e-2)


@pytest.mark.parametrize("axis", [None, (-1, 0)], ids=str)
@pytest.mark.parametrize("name", ["std", "l2_norm", "l2_normalize", "logmeanexp"])
def test_functions(name, axis, dtype):
    if name == "l2_normalize" and axis is None:
        axis = (0, 1, 2)
    x = draw(0, (2, 3, 4), dtype)

    def theirs(x):
        match name:
            case "std":
                return jnp.std(x, axis=axis)
            case "l2_norm":
                return jnp.sqrt(jnp.sum(x**2, axis=axis))
            case "l2_normalize":
                return x / jnp.sqrt(jnp.sum(x**2, axis=axis, keepdims=True))
        return jnp.log(jnp.mean(jnp.exp(x), axis=axis))

    assert_same_vjp(lambda x: functional(name)(x, axis=axis), theirs, (x,), dtype)


def test_log1mexp(dtype):
    x = jnp.asarray([1e-6, 0.1, 0.69, 0.7, 3.0, 30.0], dtype)
    assert_same_vjp(functional("log1mexp"), jax.nn.log1mexp, (x,), dtype)
    a = numpy(x)
    wanted = np.where(a < 0.5, np.log(-np.expm1(-a)), np.log1p(-np.exp(-a)))
    assert_close(functional("log1mexp")(x), wanted, dtype)


def test_layer_norm_with_weights_of_several_axes_as_of_equinox(dtype):
    shape = (3, 4)
    weights = {n: draw(i, shape, dtype) for i, n in enumerate(("scale", "bias"))}
    module = eqx.nn.LayerNorm(shape, dtype=dtype)
    hyper = {"features": 4, "leading_features": (3,), "axis": (-2, -1)}

    def theirs(weights, x):
        given = weights["scale"], weights["bias"]
        return jax.vmap(eqx.tree_at(lambda m: (m.weight, m.bias), module, given))(x)

    assert_same_vjp(
        lambda w, x: apply_layer("nn/layer_norm", hyper, w, x)[0],
        theirs,
        (weights, draw(2, (5, *shape), dtype) + 2.0),
        dtype,
    )


def test_rms_norm_with_weights_of_several_axes_as_of_flax(dtype):
    weights, x = {"scale": draw(0, (3, 4), dtype)}, draw(1, (5, 3, 4), dtype)
    axes: Any = {"reduction_axes": (-2, -1), "feature_axes": (-2, -1)}
    module = nn.RMSNorm(dtype=dtype, param_dtype=dtype, **axes)
    hyper = {"features": 4, "leading_features": (3,), "axis": (-2, -1)}
    assert_same_vjp(
        lambda w, x: apply_layer("nn/rms_norm", hyper, w, x)[0],
        lambda w, x: module.apply({"params": w}, x),
        (weights, x),
        dtype,
    )


def batch_norm_of_flax(axis, momentum, dtype):
    module = nn.BatchNorm(
        axis=axis,
        momentum=momentum,
        epsilon=1e-5,
        dtype=dtype,
        param_dtype=dtype,
        use_fast_variance=False,
    )

    def run(weights, states, x, training):
        y, new = module.apply(
            {"params": weights, "batch_stats": states},
            x,
            use_running_average=not training,
            mutable=["batch_stats"],
        )
        return y, dict(new["batch_stats"])

    return run


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_any_axis(training, dtype):
    weights, x = channels(("scale", "bias"), dtype, 4), draw(4, (5, 3, 4, 2), dtype)
    states = {"mean": draw(2, (4,), dtype), "var": draw(3, (4,), dtype) ** 2}
    theirs = batch_norm_of_flax(2, 0.8, dtype)
    hyper = {"channels": 4, "batch_dims": 2, "momentum": 0.8}
    assert_same_vjp(
        lambda w, x: apply_layer(
            "nn/batch_norm", hyper, w, x, states=states, training=training
        ),
        lambda w, x: theirs(w, states, x, training),
        (weights, x),
        dtype,
    )


@pytest.mark.parametrize("channel_last", [False, True])
@pytest.mark.parametrize("size", [(), (3, 2)], ids=str)
def test_batch_norm_of_an_example_that_is_mapped(size, channel_last, dtype):
    """As of a batch that is there at once, in flax; states are the same for all examples."""
    weights, x = channels(("scale", "bias"), dtype, 4), draw(4, (5, *size, 4), dtype)
    states = {"mean": draw(2, (4,), dtype), "var": draw(3, (4,), dtype) ** 2}
    hyper = {"channels": 4, "channel_last": channel_last, "momentum": 0.8}
    hyper |= {"batch_dims": 0, "axis_name": "batch"}

    def ours(weights, x):
        def example(x):
            return apply_layer(
                "nn/batch_norm", hyper, weights, x, states=states, training=True
            )

        x = x if channel_last else jnp.moveaxis(x, -1, 1)
        y, new = jax.vmap(example, axis_name="batch", out_axes=(0, None))(x)
        return y if channel_last else jnp.moveaxis(y, 1, -1), new

    theirs = batch_norm_of_flax(-1, 0.8, dtype)
    assert_same_vjp(
        ours, lambda w, x: theirs(w, states, x, training=True), (weights, x), dtype
    )


def test_batch_norm_over_groups_of_devices(dtype):
    """Devices of a group are an axis of their own: each group is a batch, as in flax."""
    weights, x = channels(("scale", "bias"), dtype, 4), draw(4, (2, 3, 5, 4), dtype)
    states = {"mean": draw(2, (4,), dtype), "var": draw(3, (4,), dtype) ** 2}
    hyper = {"channels": 4, "channel_last": True, "axis_name": "member"}

    def ours(weights, x):
        def device(x):
            return apply_layer(
                "nn/batch_norm", hyper, weights, x, states=states, training=True
            )

        group = jax.vmap(device, axis_name="member", out_axes=(0, None))
        return jax.vmap(group, axis_name="group")(x)

    theirs = batch_norm_of_flax(-1, 0.9, dtype)

    def expected(weights, x):
        whole = jax.vmap(lambda x: theirs(weights, states, x, training=True))
        y, new = whole(x.reshape(2, 15, 4))
        return y.reshape(x.shape), new

    assert_same_vjp(ours, expected, (weights, x), dtype)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"), [((5, 3, 4), 0), ((3, 4, 5, 2), (0, -2)), ((4, 5), (1, 0))]
)
def test_moving_averages_over_any_axes(shape, axis, masked, training, dtype):
    """As flax has them of the axes that are left, with a mask, too."""
    x = draw(4, shape, dtype) + 2.0
    axes = {a % len(shape) for a in (axis if isinstance(axis, tuple) else (axis,))}
    left = tuple(a for a in range(len(shape)) if a not in axes)
    features = tuple(shape[a] for a in left)
    states = {"mean": draw(2, features, dtype), "var": draw(3, features, dtype) ** 2}
    mask = np.arange(np.prod(shape)).reshape(shape) % 5 != 1 if masked else None
    hyper = {"features": features, "axis": axis, "momentum": 0.8}
    options: dict[str, Any] = {"use_scale": False, "use_bias": False, "axis": left}
    module = nn.BatchNorm(
        momentum=0.8,
        epsilon=1e-5,
        dtype=dtype,
        param_dtype=dtype,
        use_fast_variance=False,
        **options,
    )

    def ours(x):
        return apply_layer(
            "nn/running_z_norm",
            hyper,
            None,
            x,
            states=states,
            training=training,
            mask=mask,
        )

    def theirs(x):
        y, new = module.apply(
            {"batch_stats": states},
            x,
            use_running_average=not training,
            mask=mask,
            mutable=["batch_stats"],
        )
        return y, dict(new["batch_stats"])

    assert_same_vjp(ours, theirs, (x,), dtype)


def test_moving_averages_of_nothing_stay():
    states = {"mean": jnp.ones(3), "var": jnp.full(3, 2.0)}
    hyper = {"features": (3,), "axis": 0}
    given = {"states": states, "training": True}
    y, new = apply_layer("nn/running_z_norm", hyper, None, jnp.ones((0, 3)), **given)
    assert y.shape == (0, 3)
    jax.tree.map(np.testing.assert_array_equal, new, states)


def test_axes_that_do_not_fit_are_refused():
    states = {"mean": jnp.ones(3), "var": jnp.ones(3)}
    hyper = {"features": (3,), "axis": 2}
    with pytest.raises(ValueError, match="different axes of an array of 2 axes"):
        apply_layer("nn/running_z_norm", hyper, None, jnp.ones((2, 3)), states=states)
    with pytest.raises(ValueError, match="have the sizes features"):
        apply_layer(
            "nn/running_z_norm",
            {**hyper, "axis": 1},
            None,
            jnp.ones((2, 3)),
            states=states,
        )
