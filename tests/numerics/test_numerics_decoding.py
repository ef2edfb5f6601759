"""Transformer layers with a cache: token by token they give what the whole sequence gives."""

import jax
import jax.numpy as jnp
import pytest
from numerics_arrays import assert_close, draw

import mlax

BATCH, LENGTH, SIZE, HEADS, DEPTH = 2, 4, 6, 2, 2


def stacked(layer, dtype, **options):
    keys = jax.random.split(jax.random.key(0), DEPTH)
    make = jax.vmap(lambda k: layer.init(k, SIZE, HEADS, 8, dtype=dtype, **options))
    return mlax.block.Repeat.init(make(keys), DEPTH)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("TransformerEncoderLayer", {"causal": True, "norm_first": False}),
        ("TransformerDecoderLayer", {"kv_heads": 1}),
    ],
)
def test_cached_decoding_equals_the_full_pass(name, options, dtype):
    layer, block = getattr(mlax.block, name), mlax.block.Repeat
    weights, none, plain = stacked(layer, dtype, **options)
    options = {**options, "max_length": LENGTH + 1, "batch": (BATCH,)}
    _, state, hyper = stacked(layer, dtype, **options)
    x = draw(50, (BATCH, LENGTH, SIZE), dtype)
    given = {}
    if name == "TransformerDecoderLayer":
        given = {"context": draw(51, (BATCH, 3, SIZE), dtype)}
    with jax.default_matmul_precision("highest"):
        expected, _ = block.fwd(x, weights, none, plain, True, **given)

        @jax.jit
        def step(state, token):
            y, state = block.fwd(token, weights, state, hyper, True, **given)
            return state, y

        tokens = []
        for i in range(LENGTH):
            state, y = step(state, x[:, i : i + 1])
            tokens.append(y)
    assert_close(jnp.concatenate(tokens, axis=1), expected, dtype)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("MLP", (3, 2, (4,))),
        ("FeedForward", (3, 4)),
        ("TransformerEncoderLayer", (4, 2, 3)),
        ("TransformerDecoderLayer", (4, 2, 3)),
        ("ResNetBlock", (1, 2, 4)),
    ],
)
def test_initializers_reach_every_kernel_and_bias(name, arguments):
    def filled(value):
        return lambda key, shape, dtype=None: jnp.full(shape, value, dtype)

    given = {"kernel_initializer": filled(2.0)}
    if name != "ResNetBlock":
        given["bias_initializer"] = filled(3.0)
    layer = getattr(mlax.block, name)
    weights, _, _ = layer.init(jax.random.key(0), *arguments, **given)
    leaves = jax.tree_util.tree_leaves_with_path(weights)
    places = [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]
    kernels = [leaf for place, leaf in places if place.endswith(".kernel")]
    biases = [leaf for p, leaf in places if p.endswith(".bias") and "norm" not in p]
    assert kernels
    assert all((leaf == 2.0).all() for leaf in kernels)
    assert all((leaf == 3.0).all() for leaf in biases)
