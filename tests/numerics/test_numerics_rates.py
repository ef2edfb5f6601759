"""What is dropped where nothing is, and where all is: of rate 0 it needs no key, of rate 1 it is zero."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import mlax.graph as bx
from mlax import functional, nn

X = jnp.asarray([[1.0, -2.0, 3e4], [0.5, 0.0, -7.0]])
LAYERS = {
    "Dropout": nn.Dropout,
    "DropPath": nn.DropPath,
    "AlphaDropout": nn.AlphaDropout,
    "GaussianNoise": nn.GaussianNoise,
}
ATTENTION = jnp.ones((2, 3, 2, 4))


def attend(rate, key, chunk):
    def apply(x):
        return functional.dot_product_attention(
            x, x, x, None, None, key, dropout_rate=rate, chunk_size=chunk
        )

    return apply


def applied(name, rate, key):
    """A function of x, and the x that it is for."""
    if name == "function":
        return lambda x: functional.dropout(x, key, rate=rate), X
    if name.startswith("attention"):
        return attend(rate, key, 2 if "chunks" in name else None), ATTENTION
    trainables, state, hyperparams = LAYERS[name].init(rate)
    fwd = LAYERS[name].fwd
    return lambda x: fwd(x, trainables, state, hyperparams, False, key)[0], X


NAMES = [*LAYERS, "function", "attention", "attention in chunks"]


def test_every_layer_that_draws_is_tried():
    draws = {n for n, c in vars(bx).items() if getattr(c, "draws_keys", False) is True}
    composite = {
        "F",
        "FeedForward",
        "MLP",
        "MultiHeadAttention",
        "TransformerDecoderLayer",
        "TransformerEncoderLayer",
    }
    assert draws == {*LAYERS, *composite}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [jnp.float16, jnp.float32])
def test_of_rate_0_nothing_is_drawn(name, dtype):
    apply, x = applied(name, 0.0, None)
    keyed, _ = applied(name, 0.0, jax.random.key(0))
    x = x.astype(dtype)
    assert (apply(x) == keyed(x)).all()
    if not name.startswith("attention"):
        assert (apply(x) == x).all()
    drawn = {"random_bits", "threefry2x32", "random_wrap"}
    assert not drawn & {str(e.primitive) for e in jax.make_jaxpr(apply)(x).eqns}


@pytest.mark.parametrize("name", [n for n in NAMES if n != "GaussianNoise"])
@pytest.mark.parametrize("dtype", [jnp.float16, jnp.float32])
def test_of_rate_1_all_is_zero_and_gradients_are_finite(name, dtype):
    apply, x = applied(name, 1.0, jax.random.key(0))
    x = x.astype(dtype)
    y, pull = jax.vjp(apply, x)
    assert (y == 0).all()
    assert y.dtype == dtype
    (slope,) = pull(jnp.ones_like(y))
    assert jnp.isfinite(slope).all()


MODULES = {
    "Dropout": lambda g: bx.Dropout(g, 0.0),
    "DropPath": lambda g: bx.DropPath(g, 0.0),
    "AlphaDropout": lambda g: bx.AlphaDropout(g, 0.0),
    "GaussianNoise": lambda g: bx.GaussianNoise(g, 0.0),
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("seeded", [True, False])
def test_modules_of_rate_0_need_no_seed(name, seeded):
    graph = bx.Graph("model")
    module = MODULES[name](graph.child("module"))
    if not seeded:
        module.rng = bx.Rng(graph.child("rng"))
    block = bx.Series(graph.child("block"), [module, module])
    for model in (module, block):
        y, after = model(bx.Params().locked(), X, is_training=True)
        assert (y == X).all()
        assert not after


def test_composite_modules_without_dropout_need_no_seed():
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    mlp = bx.MLP(graph.child("mlp"), 2, [3], rng=rng)
    attention = bx.MultiHeadAttention(graph.child("attention"), 1, rng=rng)
    model = bx.Sequential(graph.child("both"), [mlp, attention])
    _, params = model(rng.seed(bx.Params(), seed=0), X, is_training=False)
    bare = params.remove(rng.paths).locked()
    y, _ = model(bare, X, is_training=True)
    assert y.shape == (2, 2)
    dropping = bx.MLP(bx.Graph("model").child("mlp"), 2, [3], dropout_rate=0.5, rng=rng)
    with pytest.raises(ValueError, match=r"rng\.seed\(params, seed=...\)"):
        dropping(bare, X, is_training=True)
