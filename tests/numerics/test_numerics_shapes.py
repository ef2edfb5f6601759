"""Layers that change shapes, against jax.image, NumPy and flax."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer
from numerics_arrays import assert_close, draw, numpy
from numerics_parity import assert_parity

import mlax


def layer(place, hyper):
    return lambda x: apply_layer(place, hyper, None, x)[0]


def test_identity_of_several_inputs():
    """As a function of any model, it hands on what it is given: the very trees, in a tuple."""
    x, other = jnp.ones(3), {"ids": jnp.arange(3)}
    identity = mlax.functional.identity
    assert identity(x) is x
    assert identity(x=other) is other
    assert [id(tree) for tree in identity(x, other, None)] == [
        *map(id, (x, other, None))
    ]
    assert type(identity(x, other)) is tuple


def test_identity(dtype):
    x = {"a": draw(0, (2, 3), dtype), "b": (jnp.arange(3), None)}
    y, _ = mlax.nn.Identity.fwd(x, *mlax.nn.Identity.init())
    assert jax.tree.structure(y) == jax.tree.structure(x)
    assert_close(y["a"], x["a"], dtype)
    assert y["b"][0] is x["b"][0]


@pytest.mark.parametrize(
    ("batch_dims", "expected"),
    [(0, (24,)), (1, (2, 12)), (2, (2, 3, 4)), (3, (2, 3, 4, 1))],
)
def test_flatten(batch_dims, expected, dtype):
    x = draw(0, (2, 3, 4), dtype)
    flatten = layer("nn/flatten", {"batch_dims": batch_dims})
    assert_parity(flatten, lambda x: jnp.reshape(x, expected), dtype, x)
    assert flatten(jnp.zeros((0, 3, 4, 5), dtype)).shape[-1] in (0, 60, 20, 5)


@pytest.mark.parametrize(
    ("hyper", "expected"),
    [
        ({"shape": (-1, 6)}, (2, 2, 6)),
        ({"shape": (4, 3)}, (2, 4, 3)),
        ({"shape": (2, -1, 2), "batch_dims": 0}, (2, 6, 2)),
        ({"shape": (-1,), "batch_dims": 3}, (2, 3, 4, 1)),
    ],
    ids=str,
)
def test_reshape(hyper, expected, dtype):
    x = draw(0, (2, 3, 4), dtype)
    reshape = layer("nn/reshape", hyper)
    assert_parity(reshape, lambda x: jnp.reshape(x, expected), dtype, x)


def test_reshape_of_an_empty_batch():
    x = jnp.zeros((0, 3, 4), jnp.float16)
    assert layer("nn/reshape", {"shape": (-1, 6)})(x).shape == (0, 2, 6)


def test_reshape_refuses_another_number_of_elements():
    with pytest.raises(ValueError, match="as many elements as the axes in its place"):
        layer("nn/reshape", {"shape": (5,)})(jnp.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="as many elements"):
        layer("nn/reshape", {"shape": (-1, 5)})(jnp.zeros((2, 3, 4)))


@pytest.mark.parametrize("channel_last", [False, True])
@pytest.mark.parametrize(
    "method", ["nearest", "linear", "cubic", "lanczos3", "lanczos5"]
)
def test_upsample(method, channel_last, dtype):
    hyper = {"spatial_dims": 2, "factor": (2, 3), "method": method}
    shape, out = (
        ((2, 5, 4, 3), (2, 10, 12, 3)) if channel_last else ((3, 5, 4), (3, 10, 12))
    )
    assert_parity(
        layer("nn/upsample", {**hyper, "channel_last": channel_last}),
        lambda x: jax.image.resize(x, out, method),
        dtype,
        draw(0, shape, dtype),
    )


def test_upsample_interpolates_between_centers(dtype):
    x = draw(0, (5,), dtype)
    hyper = {"spatial_dims": 1, "factor": 4, "method": "linear"}
    places = (np.arange(20) + 0.5) / 4 - 0.5
    expected = np.interp(places, np.arange(5), numpy(x))
    assert_close(layer("nn/upsample", hyper)(x), expected, dtype)


@pytest.mark.parametrize("channel_last", [False, True])
@pytest.mark.parametrize("factor", [(2, 3), (2,), (2, 1, 2)])
def test_pixel_shuffle(factor, channel_last, dtype):
    size, channels = (3, 2, 4)[: len(factor)], 2
    many = channels * int(np.prod(factor))
    shape = (2, *size, many) if channel_last else (2, many, *size)
    x = draw(0, shape, dtype)
    hyper = {
        "spatial_dims": len(factor),
        "factor": factor,
        "channel_last": channel_last,
    }
    y = layer("nn/pixel_shuffle", hyper)(x)
    a, b = (numpy(v) if channel_last else np.moveaxis(numpy(v), 1, -1) for v in (x, y))
    # By the definition: element p of the output is in block p // factor.
    expected = np.zeros(b.shape)
    for place in np.ndindex(*b.shape[1:-1]):
        block = tuple(p // f for p, f in zip(place, factor, strict=True))
        inside = np.ravel_multi_index(
            tuple(p % f for p, f in zip(place, factor, strict=True)), factor
        )
        for c in range(channels):
            expected[:, *place, c] = a[:, *block, c * many // channels + inside]
    assert_close(jnp.asarray(b, dtype), expected, dtype)


@pytest.mark.parametrize("channel_last", [False, True])
def test_patch_embed(channel_last, dtype):
    hyper = {"spatial_dims": 2, "in_channels": 3, "features": 5, "patch_size": (2, 3)}
    hyper |= {"channel_last": channel_last, "precision": "highest"}
    module: Any = nn.Conv(
        5, (2, 3), (2, 3), "VALID", dtype=dtype, param_dtype=dtype, precision="highest"
    )

    def ours(w, x):
        kernel = jnp.moveaxis(w["kernel"], -1, 0)
        kernel = kernel if channel_last else jnp.moveaxis(kernel, -1, 1)
        x = x if channel_last else jnp.moveaxis(x, -1, -3)
        return apply_layer("nn/patch_embed", hyper, {**w, "kernel": kernel}, x)[0]

    weights = {"kernel": draw(0, (2, 3, 3, 5), dtype), "bias": draw(1, (5,), dtype)}
    assert_parity(
        ours,
        lambda w, x: module.apply({"params": w}, x).reshape(2, 4, 5),
        dtype,
        weights,
        draw(2, (2, 4, 6, 3), dtype),
    )


def test_patch_embed_refuses_parts_of_patches():
    hyper = {"spatial_dims": 1, "in_channels": 1, "features": 2, "patch_size": 2}
    weights = {"kernel": jnp.ones((2, 1, 2)), "bias": jnp.ones(2)}
    with pytest.raises(
        ValueError, match="patch_size must divide the size of the image"
    ):
        apply_layer("nn/patch_embed", hyper, weights, jnp.ones((1, 5)))
