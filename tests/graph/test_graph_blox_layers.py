"""Layers and pools, as a program in blox calls them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_blox import differs, otherwise, start

from mlax import functional


def made(bx: Any, layer: str, x: Any, *inputs: Any, **given: Any) -> tuple[Any, Any]:
    """The result of a layer's first call, and the params."""
    graph, rng, params = start(bx)
    module = getattr(bx, layer)(graph.child("l"), rng=rng, **given)
    return module(params, x, *inputs)


def weight(params: Any, name: str) -> Any:
    return params["net", "l", name].value


# Linear


def test_linear_takes_its_input_size_from_the_input(bx: Any):
    y, params = made(bx, "Linear", jnp.ones((2, 5)), output_size=3)
    assert y.shape == (2, 3)
    assert weight(params, "kernel").shape == (5, 3)
    assert weight(params, "bias").shape == (3,)


def test_linear_is_a_product_and_a_sum(bx: Any):
    x = jnp.arange(6.0).reshape(2, 3)
    y, params = made(bx, "Linear", x, output_size=2)
    expected = x @ weight(params, "kernel") + weight(params, "bias")
    np.testing.assert_allclose(y, expected, rtol=1e-5)


def test_linear_without_a_bias(bx: Any):
    _, params = made(bx, "Linear", jnp.ones((2, 5)), output_size=3, use_bias=False)
    assert ("net", "l", "bias") not in params


def test_linear_takes_any_number_of_axes(bx: Any):
    y, _ = made(bx, "Linear", jnp.ones((2, 4, 5)), output_size=3)
    assert y.shape == (2, 4, 3)
    assert made(bx, "Linear", jnp.ones(5), output_size=3)[0].shape == (3,)


def test_linear_takes_no_number(bx: Any):
    with pytest.raises(ValueError, match=r"."):
        made(bx, "Linear", jnp.ones(()), output_size=3)


def test_the_bias_begins_with_zeros(bx: Any):
    _, params = made(bx, "Linear", jnp.ones((2, 5)), output_size=3)
    assert not weight(params, "bias").any()


def test_seeds_decide_kernels(bx: Any):
    kernels = []
    for seed in (0, 0, 1):
        graph, rng, params = start(bx, seed)
        layer = bx.Linear(graph.child("l"), output_size=3, rng=rng)
        kernels.append(weight(layer(params, jnp.ones((1, 4)))[1], "kernel"))
    assert jnp.array_equal(kernels[0], kernels[1])
    assert not jnp.array_equal(kernels[0], kernels[2])


ONES = jax.nn.initializers.ones


def kernel_initializer(bx: Any) -> None:
    given: Any = {"kernel_initializer": ONES, "bias_initializer": ONES}
    y, _ = made(bx, "Linear", jnp.ones((1, 4)), output_size=2, **given)
    assert y.tolist() == [[5.0, 5.0]]


@differs(TypeError, kernel_initializer)
def test_initializers_are_given(bx: Any):
    given: Any = {"kernel_init": ONES, "bias_init": ONES}
    y, _ = made(bx, "Linear", jnp.ones((1, 4)), output_size=2, **given)
    assert y.tolist() == [[5.0, 5.0]]


def metadata_by_name(bx: Any) -> None:
    metadata = {"kernel": {"tag": "a"}, "bias": {"tag": "b"}}
    _, params = made(bx, "Linear", jnp.ones((1, 4)), output_size=2, metadata=metadata)
    assert params["net", "l", "kernel"].metadata["tag"] == "a"


@differs(TypeError, metadata_by_name)
def test_metadata_are_given(bx: Any):
    given: Any = {"kernel_metadata": {"tag": "a"}, "bias_metadata": {"tag": "b"}}
    _, params = made(bx, "Linear", jnp.ones((1, 4)), output_size=2, **given)
    assert params["net", "l", "kernel"].metadata["tag"] == "a"


def precision_of_the_module(bx: Any) -> None:
    x = jnp.ones((1, 4))
    y, _ = made(bx, "Linear", x, output_size=2, precision=jax.lax.Precision.HIGHEST)
    assert y.shape == (1, 2)


@differs(TypeError, precision_of_the_module)
def test_precision_is_given_to_the_call(bx: Any):
    x, precision = jnp.ones((1, 4)), jax.lax.Precision.HIGHEST
    y, _ = made(bx, "Linear", x, precision, output_size=2)
    assert y.shape == (1, 2)


# Sequential


def test_sequential_runs_layers_and_functions(bx: Any):
    graph, rng, params = start(bx)
    layers = [
        bx.Linear(graph.child("a"), output_size=4, rng=rng),
        jax.nn.relu,
        bx.Linear(graph.child("b"), output_size=2, rng=rng),
    ]
    y, params = bx.Sequential(graph.child("seq"), layers)(params, jnp.ones((3, 5)))
    assert y.shape == (3, 2)
    assert params["net", "b", "kernel"].value.shape == (4, 2)


def test_sequential_of_nothing_changes_nothing(bx: Any):
    graph, _, params = start(bx)
    y, _ = bx.Sequential(graph.child("seq"), layers=[])(params, jnp.ones(3))
    assert y.tolist() == [1.0, 1.0, 1.0]


def test_sequential_holds_another(bx: Any):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("a"), output_size=4, rng=rng)
    inner = bx.Sequential(graph.child("inner"), [layer])
    outer = bx.Sequential(graph.child("outer"), [inner, jnp.tanh])
    assert outer(params, jnp.ones((3, 5)))[0].shape == (3, 4)


def test_sequential_takes_a_lambda(bx: Any):
    graph, _, params = start(bx)
    twice = bx.Sequential(graph.child("seq"), [lambda x: 2 * x])
    assert twice(params, jnp.ones(2))[0].tolist() == [2.0, 2.0]


# Dropout


def dropout(bx: Any, rate: float, **given: Any) -> tuple[Any, Any, Any]:
    graph, rng, params = start(bx)
    layer = bx.Dropout(graph.child("l"), rate=rate, rng=rng)
    y, params = layer(params, jnp.ones((40, 40)), **given)
    return y, rng, params


def test_dropout_drops_some(bx: Any):
    y, _, _ = dropout(bx, 0.5, is_training=True)
    assert 0 < int((y == 0).sum()) < y.size


def test_dropout_scales_the_others(bx: Any):
    y, _, _ = dropout(bx, 0.75, is_training=True)
    assert set(np.unique(y)) == {0.0, 4.0}


def test_dropout_is_for_training(bx: Any):
    y, rng, params = dropout(bx, 0.5, is_training=False)
    assert (y == 1).all()
    assert rng.get_counter(params) == 0


def test_dropout_trains_if_nothing_is_said(bx: Any):
    assert not (dropout(bx, 0.5)[0] == 1).all()


def test_dropout_takes_a_key(bx: Any):
    _, rng, params = dropout(bx, 0.5, is_training=True)
    assert rng.get_counter(params) == 1


def a_key_is_taken(bx: Any) -> None:
    y, rng, params = dropout(bx, 0.0, is_training=True)
    assert (y == 1).all()
    assert rng.get_counter(params) == 1


@differs(AssertionError, a_key_is_taken)
def test_dropout_of_nothing_takes_none(bx: Any):
    y, rng, params = dropout(bx, 0.0, is_training=True)
    assert (y == 1).all()
    assert rng.get_counter(params) == 0


@pytest.mark.parametrize("rate", [-0.1, 1.5])
def test_dropout_has_a_rate(bx: Any, rate: float):
    with pytest.raises(ValueError, match="Dropout"):
        dropout(bx, rate)


# Norms


def test_layer_norm_has_mean_zero_and_variance_one(bx: Any):
    x = jnp.arange(12.0).reshape(2, 6)
    y, _ = made(bx, "LayerNorm", x)
    np.testing.assert_allclose(y.mean(-1), 0.0, atol=1e-5)
    np.testing.assert_allclose(y.std(-1), 1.0, atol=1e-4)


def test_layer_norm_has_a_scale_and_a_bias(bx: Any):
    _, params = made(bx, "LayerNorm", jnp.ones((2, 6)))
    assert weight(params, "scale").tolist() == [1.0] * 6
    assert weight(params, "bias").tolist() == [0.0] * 6


def test_layer_norm_may_have_neither(bx: Any):
    _, params = made(bx, "LayerNorm", jnp.ones((2, 6)), use_scale=False, use_bias=False)
    assert len(params) == 2


def test_layer_norm_needs_no_rng(bx: Any):
    graph, _, params = start(bx)
    y, _ = bx.LayerNorm(graph.child("l"))(params, jnp.ones((2, 3, 6)))
    assert y.shape == (2, 3, 6)


def test_rms_norm_divides_by_the_root_of_the_mean_square(bx: Any):
    x = jnp.arange(1.0, 5.0)[None]
    y, params = made(bx, "RMSNorm", x)
    np.testing.assert_allclose(y, x / jnp.sqrt((x * x).mean()), rtol=1e-5)
    assert weight(params, "scale").shape == (4,)


def test_rms_norm_may_have_no_scale(bx: Any):
    _, params = made(bx, "RMSNorm", jnp.ones((2, 6)), use_scale=False)
    assert len(params) == 2


def test_batch_norm_normalizes_a_batch(bx: Any):
    x = jnp.arange(12.0).reshape(6, 2)
    y, _ = made(bx, "BatchNorm", x)
    np.testing.assert_allclose(y.mean(0), 0.0, atol=1e-5)
    np.testing.assert_allclose(y.std(0), 1.0, atol=1e-4)


def test_batch_norm_does_not_at_inference(bx: Any):
    graph, rng, params = start(bx)
    norm = bx.BatchNorm(graph.child("l"), rng=rng)
    x = jnp.arange(12.0).reshape(6, 2)
    _, params = norm(params, x, is_training=True)
    y, after = norm(params.locked(), x, is_training=False)
    assert not jnp.allclose(y.mean(0), 0.0, atol=1e-2)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, params.locked(), after))


def moving(bx: Any, mean: str, var: str) -> None:
    x = jnp.array([[1.0, 10.0], [5.0, 20.0]])
    graph, rng, params = start(bx)
    norm = bx.BatchNorm(graph.child("l"), momentum=0.25, rng=rng)
    _, params = norm(params, x, is_training=True)
    np.testing.assert_allclose(weight(params, mean), 0.75 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(weight(params, var), 0.25 + 0.75 * x.var(0), rtol=1e-5)
    assert not params["net", "l", mean].trainable


@differs(KeyError, lambda bx: moving(bx, "mean", "var"))
def test_batch_norm_keeps_moving_statistics(bx: Any):
    moving(bx, "running_mean", "running_var")


def channels(bx: Any, **given: Any) -> None:
    x = jnp.ones((2, 4, 4, 3))
    y, params = made(bx, "BatchNorm", x, **given)
    assert y.shape == x.shape
    assert weight(params, "scale").shape == (3,)


@differs(AssertionError, lambda bx: channels(bx, channel_last=True))
def test_batch_norm_of_images(bx: Any):
    channels(bx)


# Embed


def embedded(bx: Any, *names: str) -> None:
    graph, rng, params = start(bx)
    sizes = dict(zip(names, (10, 4), strict=True))
    embed = bx.Embed(graph.child("l"), **sizes, rng=rng)
    x, params = embed(params, jnp.array([[0, 3, 9]]))
    table = weight(params, "embedding")
    assert table.shape == (10, 4)
    assert jnp.array_equal(x, table[jnp.array([[0, 3, 9]])])


@differs(TypeError, lambda bx: embedded(bx, "entries", "features"))
def test_embed_looks_up_rows(bx: Any):
    embedded(bx, "num_embeddings", "embedding_size")


def test_embed_takes_its_sizes_in_order(bx: Any):
    graph, rng, params = start(bx)
    y, _ = bx.Embed(graph.child("l"), 10, 4, rng=rng)(params, jnp.array([1, 2]))
    assert y.shape == (2, 4)


def test_embed_may_be_the_last_layer(bx: Any):
    graph, rng, params = start(bx)
    embed = bx.Embed(graph.child("l"), 10, 4, rng=rng)
    _, params = embed(params, jnp.array([0]))
    logits, _ = embed.attend(params.locked(), jnp.ones((2, 4)))
    expected = jnp.ones((2, 4)) @ weight(params, "embedding").T
    np.testing.assert_allclose(logits, expected, rtol=1e-5)


def test_embed_learns_the_rows_it_looked_up(bx: Any):
    graph, rng, params = start(bx)
    embed = bx.Embed(graph.child("l"), 5, 2, rng=rng)
    _, params = embed(params, jnp.array([0]))
    trainable, rest = params.split()
    grads = jax.grad(lambda t: embed(t.merge(rest), jnp.array([1, 3]))[0].sum())(
        trainable
    )
    assert weight(grads, "embedding").sum(-1).tolist() == [0, 2, 0, 2, 0]


# Convolutions: x has its channels last, and the kernel's size tells the number of axes.


def ours(layer: str, window: Any, out: int, **given: Any) -> dict[str, Any]:
    """The names that a convolution has here."""
    renamed = {"kernel_dilation": "dilation", "feature_group_count": "groups"}
    dims = len(window) if isinstance(window, tuple) else 1
    named = {renamed.get(name, name): value for name, value in given.items()}
    return {
        "spatial_dims": dims,
        "out_channels": out,
        "kernel_size": window,
        "channel_last": True,
        **named,
    }


CONVOLUTIONS = {
    "of_one_axis": ("Conv", (2, 6, 3), 3, 4, {}, (2, 6, 4)),
    "of_two_axes": ("Conv", (2, 5, 5, 3), (3, 3), 4, {}, (2, 5, 5, 4)),
    "of_three_axes": ("Conv", (1, 3, 3, 3, 2), (2, 2, 2), 4, {}, (1, 3, 3, 3, 4)),
    "without_padding": (
        *("Conv", (2, 5, 5, 3), (3, 3), 4),
        *({"padding": "VALID"}, (2, 3, 3, 4)),
    ),
    "with_strides": ("Conv", (2, 5, 5, 3), (3, 3), 4, {"strides": 2}, (2, 3, 3, 4)),
    "with_dilation": (
        *("Conv", (2, 7, 3), 3, 4),
        *({"kernel_dilation": 2, "padding": "VALID"}, (2, 3, 4)),
    ),
    "with_groups": (
        *("Conv", (2, 5, 4), 3, 4),
        *({"feature_group_count": 4}, (2, 5, 4)),
    ),
    "without_a_batch": ("Conv", (5, 5, 3), (3, 3), 4, {}, (5, 5, 4)),
    "of_several_batches": ("Conv", (2, 3, 5, 3), 3, 4, {}, (2, 3, 5, 4)),
    "transposed": (
        *("ConvTranspose", (2, 4, 3), 3, 4),
        *({"strides": 2}, (2, 8, 4)),
    ),
    "transposed_of_two_axes": (
        *("ConvTranspose", (1, 4, 4, 3), (3, 3), 2),
        *({"strides": (2, 2)}, (1, 8, 8, 2)),
    ),
    "transposed_without_padding": (
        *("ConvTranspose", (1, 2, 2, 3), (3, 3), 2),
        *({"padding": "VALID"}, (1, 4, 4, 2)),
    ),
    "transposed_without_a_batch": (
        *("ConvTranspose", (4, 3), 3, 4),
        *({"strides": 2}, (8, 4)),
    ),
}


@otherwise
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(bx: Any, case: str):
    layer, shape, window, out, given, expected = CONVOLUTIONS[case]
    theirs = {"output_channels": out, "kernel_size": window, **given}
    if bx.__name__ != "blox":
        with pytest.raises(TypeError):
            made(bx, layer, jnp.ones(shape), **theirs)
        theirs = ours(layer, window, out, **given)
    y, params = made(bx, layer, jnp.ones(shape), **theirs)
    assert y.shape == expected
    assert weight(params, "bias").shape == (out,)


@otherwise
@pytest.mark.parametrize("layer", ["Conv", "ConvTranspose"])
def test_kernels_have_a_layout(bx: Any, layer: str):
    theirs: Any = {"output_channels": 4, "kernel_size": (2, 3), "use_bias": False}
    shape: Any = {"Conv": (2, 3, 5, 4), "ConvTranspose": (2, 3, 4, 5)}[layer]
    if bx.__name__ != "blox":
        theirs = ours(layer, (2, 3), 4, use_bias=False)
        shape = (4, 2, 3, 5)
    _, params = made(bx, layer, jnp.ones((1, 6, 6, 5)), **theirs)
    assert weight(params, "kernel").shape == shape
    assert len(params) == 3


# Pools are functions there, of arrays whose channels are last.


def pooled(bx: Any, name: str, x: Any, window: Any, strides: Any, **given: Any) -> Any:
    if bx.__name__ == "blox":
        return getattr(bx, name)(x, window_shape=window, strides=strides, **given)
    assert not hasattr(bx, name)
    dims = len(window) if isinstance(window, tuple) else 1
    function = getattr(functional, name)
    if name == "avg_pool":
        given["count_include_pad"] = False
    return function(
        x,
        spatial_dims=dims,
        window=window,
        strides=window if strides is None else strides,
        channel_last=True,
        **given,
    )


IMAGE = jnp.arange(16.0).reshape(1, 4, 4, 1)


@otherwise
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("max_pool", [5, 7, 13, 15]),
        ("min_pool", [0, 2, 8, 10]),
        ("avg_pool", [2.5, 4.5, 10.5, 12.5]),
    ],
)
def test_pools(bx: Any, name: str, expected: list[float]):
    y = pooled(bx, name, IMAGE, (2, 2), 2)
    assert y.shape == (1, 2, 2, 1)
    assert y.ravel().tolist() == expected
    assert jnp.array_equal(pooled(bx, name, IMAGE, (2, 2), None), y)
    assert jnp.array_equal(pooled(bx, name, IMAGE[0], (2, 2), 2), y[0])


@otherwise
@pytest.mark.parametrize("name", ["max_pool", "min_pool", "avg_pool"])
@pytest.mark.parametrize("padding", ["SAME", ((1, 0), (0, 1))])
def test_padding_of_pools_is_no_element(bx: Any, name: str, padding: Any):
    x = -jnp.ones((2, 3, 3, 1)) if name != "min_pool" else jnp.ones((2, 3, 3, 1))
    y = pooled(bx, name, x, (2, 2), 1, padding=padding)
    assert y.shape == (2, 3, 3, 1)
    np.testing.assert_allclose(y, x)
