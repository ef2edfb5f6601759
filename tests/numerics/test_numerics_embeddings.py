"""Embeddings, of tokens and of positions, against float64 NumPy, flax and equinox."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer, functional, init_layer
from numerics_arrays import assert_close, draw, numpy

BIG = 5000


def angles(positions: Any, features: int, base: float) -> np.ndarray:
    """The angles of Vaswani et al., section 3.5, in float64."""
    powers = np.arange(0, features, 2, dtype=np.float64) / features
    return np.asarray(positions, np.float64)[..., None] / base**powers


def value_and_gradients(function, *arguments):
    """The value, and the gradients of the sum of its squares, in one program."""

    @jax.jit
    def run(*arguments):
        y, vjp = jax.vjp(function, *arguments)
        return y, vjp(y)

    return run(*arguments)


@pytest.mark.parametrize("base", [10000.0, 500000.0])
def test_sinusoids(base: float, dtype: Any):
    """Positions up to thousands, and negative ones, lose nothing."""
    positions = np.array([[0, 1, 2, 3], [-7, 100, BIG, 12345]])
    like = jnp.zeros((), dtype)
    sin, cos = functional("sinusoids")(
        like, jnp.asarray(positions), features=6, base=base
    )
    angle = angles(positions, 6, base)
    assert_close((sin, cos), (np.sin(angle), np.cos(angle)), dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sinusoids_of_half_precision(dtype: str):
    """As exact as a sine of an angle that is rounded once, at any position."""
    positions = np.array([0, 1, 255, 257, BIG, 100_000])
    like = jnp.zeros((), dtype)
    sin, cos = functional("sinusoids")(like, jnp.asarray(positions), features=8)
    angle = angles(positions, 8, 10000.0)
    limit = 4 * float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(np.asarray(sin, np.float64), np.sin(angle), atol=limit)
    np.testing.assert_allclose(np.asarray(cos, np.float64), np.cos(angle), atol=limit)


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_sinusoidal_embedding(interleaved: bool, given: bool, dtype: Any):
    x = draw(0, (2, 4, 6), dtype)
    positions = np.array([5, 0, 900, 2]) if given else np.arange(4)
    angle = angles(positions, 6, 10000.0)
    table = np.empty((4, 6))
    if interleaved:
        table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    else:
        table = np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)
    y, _ = apply_layer(
        "nn/sinusoidal_embedding",
        {"features": 6, "interleaved": interleaved},
        None,
        x,
        positions=jnp.asarray(positions) if given else None,
    )
    assert_close(y, numpy(x) + table, dtype)


def test_rotary_embedding_of_equinox(dtype: Any):
    x = draw(0, (5, 2, 6), dtype)
    module = eqx.nn.RotaryPositionalEmbedding(6, theta=1000.0, dtype=dtype)

    def ours(x):
        return apply_layer(
            "nn/rotary_embedding", {"features": 6, "base": 1000.0}, None, x
        )[0]

    expected = value_and_gradients(jax.vmap(module, 1, 1), x)
    assert_close(value_and_gradients(ours, x), expected, dtype)


@pytest.mark.parametrize("rotary_features", [None, 4])
def test_rotary_embedding_turns_neighbours(rotary_features: int | None, dtype: Any):
    """Complex numbers a + i b of neighbours, times e^(i angle): Su et al., equation 34."""
    x = draw(0, (2, 3, 2, 6), dtype)
    positions = np.array([[3, 1, 7], [0, BIG, 2]])
    size = rotary_features or 6
    parts = numpy(x)[..., :size]
    turned = (parts[..., ::2] + 1j * parts[..., 1::2]) * np.exp(
        1j * angles(positions, size, 10000.0)
    )[:, :, None]
    expected = numpy(x).copy()
    expected[..., 0:size:2], expected[..., 1:size:2] = turned.real, turned.imag

    def ours(x):
        return functional("rotary_embedding")(
            x,
            jnp.asarray(positions),
            interleaved=True,
            rotary_features=rotary_features,
        )

    y, (gradient,) = value_and_gradients(ours, x)
    assert_close(y, expected, dtype)
    # A rotation is orthogonal: its transpose takes y back to x.
    assert_close(gradient, x, dtype)


def test_rotated_products_depend_on_differences_alone(dtype: Any):
    q, k = (jnp.broadcast_to(draw(s, (1, 6), dtype), (4, 1, 6)) for s in range(2))
    rotate = functional("rotary_embedding")
    for shift in (0, BIG):
        at = jnp.arange(4) + shift
        products = jnp.einsum(
            "qhf,khf->qk", rotate(q, at), rotate(k, at), precision="highest"
        )
        if shift == 0:
            expected = products
    assert_close(products, expected, dtype)


@pytest.mark.parametrize("given", [True, False])
def test_learned_positional_embedding(given: bool, dtype: Any):
    """The gradient of a row of the table is the sum of those where it was added."""
    weights, x = {"embedding": draw(0, (5, 3), dtype)}, draw(1, (2, 4, 3), dtype)
    positions = np.array([4, 0, 4, 2]) if given else np.arange(4)

    def ours(weights, x):
        return apply_layer(
            "nn/learned_positional_embedding",
            {"length": 5, "features": 3},
            weights,
            x,
            positions=jnp.asarray(positions) if given else None,
        )[0]

    expected = numpy(x) + numpy(weights)["embedding"][positions]
    table = np.zeros((5, 3))
    np.add.at(table, positions, expected.sum(0))
    y, gradients = value_and_gradients(ours, weights, x)
    assert_close(y, expected, dtype)
    assert_close(gradients, ({"embedding": table}, expected), dtype)


def test_positions_outside_of_the_table():
    layer = {"length": 3, "features": 2}
    weights = {"embedding": draw(0, (3, 2), jnp.float32)}
    x = draw(1, (2, 2), jnp.float32)
    place = "nn/learned_positional_embedding"
    y, _ = apply_layer(place, layer, weights, x, positions=jnp.array([2, 3]))
    assert np.isnan(np.asarray(y)).tolist() == [[False] * 2, [True] * 2]
    with pytest.raises(ValueError, match="at most length positions"):
        apply_layer(place, layer, weights, draw(1, (4, 2), jnp.float32))


def test_embed_of_flax(dtype: Any):
    weights = {"embedding": draw(0, (5, 3), dtype)}
    module = nn.Embed(5, 3, dtype=dtype, param_dtype=dtype)
    tokens, x = jnp.array([[0, 3, 3], [1, 4, 0]]), draw(1, (2, 3), dtype)
    layer = {"entries": 5, "features": 3, "precision": "highest"}

    def ours(weights, x):
        looked_up, _ = apply_layer("nn/embed", layer, weights, tokens)
        attended, _ = apply_layer("nn/embed", layer, weights, x, entry="attend")
        return jnp.concatenate([looked_up.ravel(), attended.ravel()])

    def theirs(weights, x):
        looked_up = module.apply({"params": weights}, tokens)
        attended = module.apply({"params": weights}, x, method="attend")
        return jnp.concatenate([looked_up.ravel(), attended.ravel()])

    with jax.default_matmul_precision("highest"):
        expected = value_and_gradients(theirs, weights, x)
    assert_close(value_and_gradients(ours, weights, x), expected, dtype)


@pytest.mark.parametrize("heads", [1, 6, 8])
def test_alibi_bias(heads: int, dtype: Any):
    """The slopes of the reference code of Press et al., appendix A."""

    def slopes(n: int) -> list[float]:
        if np.log2(n) % 1 == 0:
            start = 2 ** (-(2 ** -(np.log2(n) - 3)))
            return [start * start**i for i in range(n)]
        below = 2 ** int(np.floor(np.log2(n)))
        return slopes(below) + slopes(2 * below)[0::2][: n - below]

    distance = np.abs(np.arange(3)[:, None] - np.arange(5))
    bias = -np.asarray(slopes(heads))[:, None, None] * distance
    x = draw(0, (2, heads, 3, 5), dtype)
    y, _ = apply_layer("nn/alibi_bias", {"heads": heads}, None, x)
    assert_close(y, numpy(x) + bias, dtype)
    _, _, hyper = init_layer("nn/alibi_bias", {"heads": heads})
    assert_close(hyper.bias(1, 5, dtype, start=2), bias[:, 2:3], dtype)
