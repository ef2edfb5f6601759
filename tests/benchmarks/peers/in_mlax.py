"""The models in mlax, of layers and blocks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from tests.benchmarks.peers.model import Model, Sizes

import mlax
from mlax.block import Recurrent, Repeat, Residual, Series
from mlax.nn import BatchNorm, Conv, F, LayerNorm, Linear, LSTMCell, MultiHeadAttention

KEY = jax.random.key(0)
relu = F.init(jax.nn.relu)


def model(layer: Any, fwd: Any = mlax.block.Series.fwd) -> Model:
    """An initialized layer as a pure function."""
    trainables, non_trainables, hyperparams = layer

    def apply(trainables: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        return fwd(x, trainables, state, hyperparams)

    return Model(trainables, non_trainables, apply)


def mlp(sizes: Sizes) -> Model:
    """Linear layers with relu between them."""
    layers = []
    for key in jax.random.split(KEY, sizes.depth):
        layers += [Linear.init(key, sizes.features, sizes.features), relu]
    return model(Series.init(layers[:-1]))


def _mean(x: jax.Array) -> jax.Array:
    return jnp.mean(x, (1, 2))


def cnn(sizes: Sizes) -> Model:
    """Convolutions with batch norm and relu, channels last."""
    layers, inner = [], 3
    for outer in sizes.channels:
        conv = Conv.init(KEY, 2, inner, outer, 3, 2, channel_last=True, use_bias=False)
        layers += [conv, BatchNorm.init(KEY, outer, channel_last=True), relu]
        inner = outer
    return model(Series.init([*layers, F.init(_mean), Linear.init(KEY, inner, 10)]))


def encoder_layer(sizes: Sizes, key: jax.Array) -> Any:
    """A transformer layer, its norms before its parts."""
    n = sizes.width
    keys = jax.random.split(key, 5)
    attention = [
        LayerNorm.init(keys[0], n),
        MultiHeadAttention.init(keys[1], n, sizes.heads),
    ]
    feed_forward = [
        LayerNorm.init(keys[2], n),
        Linear.init(keys[3], n, 4 * n),
        F.init(jax.nn.gelu),
        Linear.init(keys[4], 4 * n, n),
    ]
    return Series.init(
        [
            Residual.init(Series.init(attention)),
            Residual.init(Series.init(feed_forward)),
        ]
    )


def encoder(sizes: Sizes) -> Model:
    """Transformer layers in Series."""
    keys = jax.random.split(KEY, sizes.layers)
    return model(Series.init([encoder_layer(sizes, key) for key in keys]))


def scanned_encoder(sizes: Sizes) -> Model:
    """Transformer layers in a scan."""
    stacked = jax.vmap(lambda key: encoder_layer(sizes, key))(
        jax.random.split(KEY, sizes.layers)
    )
    return model(Repeat.init(stacked, sizes.layers), Repeat.fwd)


def lstm(sizes: Sizes) -> Model:
    """An LSTM over the second axis."""
    cell = LSTMCell.init(KEY, sizes.hidden, sizes.hidden)
    return model(Recurrent.init(cell), Recurrent.fwd)
