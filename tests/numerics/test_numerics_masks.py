"""Masks: what `where` and `mask` leave out counts nothing, against flax and jax in float64."""

import functools
from typing import Any

import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer
from numerics_arrays import assert_close, compiled, draw, reference
from numerics_compare import assert_same

import mlax.functional as F
from mlax import block, nn
from mlax import graph as bx

MASK = np.random.default_rng(0).uniform(size=(2, 5, 6)) < 0.6
MASK[..., :2] = MASK[:, :2] = True
LENGTHS = np.arange(5)[None, :, None] < np.array([5, 2])[:, None, None]
"""One element for each position, which broadcasts over the features."""

REDUCTIONS = {
    "sum": jnp.sum,
    "prod": jnp.prod,
    "mean": jnp.mean,
    "var": jnp.var,
    "std": jnp.std,
    "logsumexp": jax.nn.logsumexp,
    "logmeanexp": jax.nn.logmeanexp,
    "softmax": jax.nn.softmax,
    "log_softmax": jax.nn.log_softmax,
}


def check(ours: Any, theirs: Any, x: Any) -> None:
    """The same numbers and gradients, where both are finite."""

    def finite(function: Any) -> Any:
        return lambda x: jnp.where(jnp.isfinite(y := function(x)), y, jnp.zeros_like(y))

    assert_same(finite(ours), finite(theirs), x)


@pytest.mark.parametrize("axis", [-1, (0, 1)], ids=str)
@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@pytest.mark.parametrize("mask", [MASK, LENGTHS], ids=["elements", "lengths"])
def test_reductions(name, axis, mask, dtype):
    if mask is LENGTHS and axis == -1:
        mask = LENGTHS.repeat(6, -1) & (np.arange(6) < 4)
        # Of nothing the mean is 0 here, and of one the gradient; both are NaN there.
        mask[..., :2] = True
    ours, theirs = getattr(F, name), REDUCTIONS[name]
    where = jnp.asarray(mask)
    check(
        lambda x: ours(x, where, axis=axis),
        lambda x: theirs(x, axis=axis, where=where),
        draw(0, (2, 5, 6), dtype),
    )


@pytest.mark.parametrize("name", ["max", "l2_norm"])
def test_the_largest_and_the_length(name, dtype):
    where = jnp.asarray(MASK)
    if name == "max":
        theirs = lambda x: jnp.max(x, axis=-1, where=where, initial=-jnp.inf)  # noqa: E731
    else:
        theirs = lambda x: jnp.sqrt(jnp.sum(x**2, axis=-1, where=where) + 1e-300)  # noqa: E731
    check(
        lambda x: getattr(F, name)(x, where, axis=-1),
        theirs,
        draw(0, (2, 5, 6), dtype),
    )


@pytest.mark.parametrize("where", [None, MASK], ids=["all", "mask"])
@pytest.mark.parametrize("name", ["var", "std"])
def test_a_correction_divides_by_fewer(name, where, dtype):
    where = None if where is None else jnp.asarray(where)
    check(
        lambda x: getattr(F, name)(x, where, axis=(0, 1), correction=1.0),
        lambda x: getattr(jnp, name)(x, axis=(0, 1), where=where, ddof=1),
        draw(0, (2, 5, 6), dtype),
    )


def test_a_correction_by_all_there_are_is_none():
    x, where = jnp.ones((3, 2)), jnp.asarray([[True, True], [True, False]] * 2)[:3]
    assert np.isnan(F.var(x, where, axis=1, correction=1.0)).tolist() == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("axis", "mask"),
    [(-1, MASK), ((-2, -1), MASK), ((-2, -1), LENGTHS)],
    ids=["features", "elements", "lengths"],
)
@pytest.mark.parametrize("norm", ["LayerNorm", "RMSNorm"])
def test_norms_of_features(norm, axis, mask, dtype):
    module = getattr(linen, norm)(
        epsilon=1e-5,
        use_fast_variance=False,
        reduction_axes=axis,
        dtype=jnp.float64,
        param_dtype=jnp.float64,
    )
    scale = draw(1, (6,), dtype)
    names = ("scale", "bias") if norm == "LayerNorm" else ("scale",)
    weights = dict.fromkeys(names, scale)
    wide = dict.fromkeys(names, scale.astype(jnp.float64))
    path = {"LayerNorm": "nn/layer_norm", "RMSNorm": "nn/rms_norm"}[norm]
    hyper = {"features": 6, "axis": axis, "epsilon": 1e-5}
    where = jnp.asarray(mask)
    assert_same(
        lambda x: apply_layer(path, hyper, weights, x, mask=where)[0],
        lambda x: module.apply({"params": wide}, x, mask=where),
        draw(2, (2, 5, 6), dtype) + 2.0,
    )


@pytest.mark.parametrize("channel_last", [True, False])
@pytest.mark.parametrize("norm", ["GroupNorm", "InstanceNorm", "BatchNorm"])
def test_norms_of_channels(norm, channel_last, dtype):
    theirs_too: dict[str, Any] = {"num_groups": 3} if norm == "GroupNorm" else {}
    if norm == "BatchNorm":
        theirs_too = {"use_running_average": False, "momentum": 0.9}
    module = getattr(linen, norm)(
        epsilon=1e-5,
        use_fast_variance=False,
        dtype=jnp.float64,
        param_dtype=jnp.float64,
        **theirs_too,
    )
    scale = draw(1, (6,), jnp.dtype("float64"))
    params = {"params": {"scale": scale, "bias": scale}}
    if norm == "BatchNorm":
        params["batch_stats"] = {"mean": jnp.zeros(6), "var": jnp.ones(6)}
    where = jnp.asarray(MASK)

    def place(x: Any) -> Any:
        return x if channel_last else jnp.moveaxis(x, -1, 1)

    groups = (3,) if norm == "GroupNorm" else ()
    layer = getattr(nn, norm)
    options = {"channel_last": channel_last, "epsilon": 1e-5, "dtype": dtype}
    trainables, state, hyperparams = jax.jit(
        lambda key: layer.init(key, *groups, 6, **options)
    )(jax.random.key(0))
    trainables = trainables._replace(
        scale=scale.astype(dtype), bias=scale.astype(dtype)
    )

    def ours(x: Any) -> Any:
        y, new = hyperparams.apply(place(x), trainables, state, mask=place(where))
        y = y if channel_last else jnp.moveaxis(y, 1, -1)
        return (y, new.mean, new.var) if norm == "BatchNorm" else y

    def theirs(x: Any) -> Any:
        if norm != "BatchNorm":
            return module.apply(params, x, mask=where)
        y, new = module.apply(params, x, mask=where, mutable=["batch_stats"])
        return y, new["batch_stats"]["mean"], new["batch_stats"]["var"]

    x = draw(2, (2, 5, 6), dtype) + 2.0
    if norm != "BatchNorm":
        assert_same(ours, theirs, x)
        return
    expected = reference(theirs)(x.astype(jnp.float64))
    assert_close(compiled(ours, dtype)(x), expected, dtype)


def test_z_norm_is_layer_norm_without_weights(dtype):
    x, where = draw(0, (2, 5, 6), dtype), jnp.asarray(MASK)
    _, _, hyperparams = nn.ZNorm.init()
    actual, _ = hyperparams.apply(x, None, None, mask=where)
    np.testing.assert_array_equal(actual, F.layer_norm(x, where))


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "softmax", "mean", "std"])
def test_a_mask_of_everything_changes_nothing(name, dtype):
    x, function = draw(0, (2, 5, 6), dtype), getattr(F, name)
    run = jax.jit(functools.partial(function, axis=-1))
    assert_close(run(x, np.ones((), bool)), run(x), dtype)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "logsumexp", "l2_norm"])
def test_what_is_left_out_may_be_anything(name, dtype):
    """Padding of NaN leaves the result and the gradients of the rest alone."""
    x, where = draw(0, (2, 5, 6), dtype), jnp.asarray(MASK)
    spoilt = jnp.where(where, x, jnp.full_like(x, jnp.nan))

    def run(x):
        return getattr(F, name)(x, where, axis=-1).sum()

    (y, gradient), (expected, exact) = map(
        jax.jit(jax.value_and_grad(run)), (spoilt, x)
    )
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(jnp.where(where, gradient, 0.0), exact)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
@pytest.mark.parametrize("share", [1.0, 0.5, 1e-3])
def test_the_mean_of_few_among_many_is_exact(name, share):
    """The error grows neither with the elements nor with those that are left out."""
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.uniform(1.0, 3.0, 2**18), name)
    where = jnp.asarray(rng.uniform(size=x.shape) < share)
    exact = np.mean(np.asarray(x, "float64")[np.asarray(where)])
    info = jnp.finfo(name)
    unit = 2.0 ** (np.floor(np.log2(exact)) - info.nmant)
    assert abs(float(jax.jit(F.mean)(x, where)) - exact) <= 3 * unit
    exact = np.var(np.asarray(x, "float64")[np.asarray(where)])
    unit = 2.0 ** (np.floor(np.log2(exact)) - info.nmant)
    assert abs(float(jax.jit(F.var)(x, where)) - exact) <= 8 * unit


@pytest.mark.parametrize("half", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "mean", "var", "std"])
def test_gradients_in_16_bits_are_those_in_64(name, half):
    where = jnp.asarray(np.random.default_rng(1).uniform(size=(4, 512)) < 0.3)
    x = draw(3, where.shape, jnp.dtype(half)) * 2.0 + 1.0
    weights = draw(4, where.shape, jnp.dtype(half))

    def run(x):
        y = getattr(F, name)(x, where, axis=-1)
        given = weights if y.ndim == 2 else weights[:, 0]
        return jnp.sum(y * given.astype(y.dtype))

    gradient = jax.jit(jax.grad(run))(x)
    with jax.enable_x64(True):
        exact = jax.jit(jax.grad(run))(jnp.asarray(np.asarray(x), jnp.float64))
    exact = np.asarray(exact)
    error = np.abs(np.asarray(gradient, np.float64) - exact).max()
    assert error <= 4 * float(jnp.finfo(half).eps) * np.abs(exact).max()
    assert (exact[~np.asarray(where)] == 0.0).all() == (
        name not in {"layer_norm", "rms_norm"}
    )


def test_devices_count_by_what_they_select():
    """A mean over mapped axes is weighted by the number of elements on each."""
    x = draw(0, (2, 4, 6), jnp.dtype("float32"))
    where = jnp.asarray(np.arange(24).reshape(4, 6) % 5 < 3)
    where = jnp.stack([where, jnp.zeros_like(where).at[0, 0].set(True)])
    run = jax.vmap(
        lambda x, w: F.layer_norm(x, w, axis=(0, 1), axis_name="devices"),
        axis_name="devices",
    )
    whole = functools.partial(F.layer_norm, axis=(0, 1, 2))
    y, expected = (jax.jit(f)(x, where) for f in (run, whole))
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("name", ["BatchNorm", "RunningZNorm"])
def test_averages_of_what_a_mask_leaves_out_stay(name: str, devices: int):
    key, axis_name = jax.random.key(0), "device" if devices > 1 else None
    weights, state, hyperparams = (
        nn.BatchNorm.init(key, 3, channel_last=True, axis_name=axis_name)
        if name == "BatchNorm"
        else nn.RunningZNorm.init(key, (3,), (0, 1), axis_name=axis_name)
    )
    state = state._replace(mean=jnp.asarray([0.1, 0.3, 0.7], state.mean.dtype))
    x = jax.random.normal(key, (devices, 4, 5, 3))

    def after(where: Any) -> Any:
        def step(x: jax.Array, where: jax.Array) -> Any:
            return hyperparams.apply(x, weights, state, mask=where)[1]

        where = jnp.broadcast_to(jnp.asarray(where), x.shape)
        if devices == 1:
            return jax.jit(step)(x[0], where[0])
        mapped = jax.vmap(step, axis_name="device", out_axes=None)
        return jax.jit(mapped)(x, where)

    # Nothing of the first channel, of the second one on the last device only.
    where = np.ones((devices, 4, 5, 3), bool)
    where[..., 0] = where[:-1, ..., 1] = False
    for old, new in zip(state, after(where), strict=True):
        assert (np.asarray(old == new) == [True, False, False]).all()
    for old, new in zip(state, after(False), strict=True):
        assert jnp.array_equal(old, new)


def test_modules_take_a_mask():
    x, where = draw(0, (2, 5, 6), jnp.dtype("float32")), jnp.asarray(MASK)
    graph = bx.Graph("root")
    norm = bx.LayerNorm(graph.child("norm"))
    y, params = norm(bx.Params(), x, mask=where)
    np.testing.assert_array_equal(y, F.layer_norm(x, where))
    assert {path[-1] for path in params} == {"scale", "bias"}


def test_masks_of_attention_are_those_of_flax():
    there = jnp.asarray(np.arange(6) < np.array([6, 2, 4])[:, None])
    queries = there[:, :5]
    np.testing.assert_array_equal(
        F.make_attention_mask(queries, there),
        linen.make_attention_mask(queries, there, dtype=bool),
    )
    padding = linen.make_attention_mask(jnp.ones_like(there), there, dtype=bool)
    causal = linen.make_causal_mask(there, dtype=bool)
    expected = linen.combine_masks(causal, padding, dtype=bool)
    np.testing.assert_array_equal(F.make_causal_mask(there), expected)
    np.testing.assert_array_equal(F.combine_masks(causal, padding, None), expected)


def test_attention_does_not_see_what_is_not_there():
    """Padding changes nothing of the rest, in a whole layer of a transformer."""
    x = draw(0, (2, 6, 8), jnp.dtype("float32"))
    there = jnp.asarray(np.arange(6) < np.array([6, 4])[:, None])
    trainables, state, hyperparams = jax.jit(
        lambda key: block.TransformerEncoderLayer.init(key, 8, 2, 16)
    )(jax.random.key(0))

    @jax.jit
    def run(x, there):
        mask = F.make_attention_mask(there, there)
        return hyperparams.apply(x, trainables, state, True, mask=mask)[0]

    y = run(x.at[1, 4:].set(1e3), there)
    np.testing.assert_allclose(
        y[1:, :4], run(x[1:, :4], there[1:, :4]), rtol=1e-5, atol=1e-6
    )
