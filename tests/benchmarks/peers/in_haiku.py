"""The models in haiku."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import haiku as hk
import jax
from haiku.experimental import layer_stack
from tests.benchmarks.peers.model import Model, Sizes


def model(function: Callable[[jax.Array], jax.Array], x: jax.Array) -> Model:
    """A haiku function as a pure function."""
    transformed = hk.transform_with_state(function)
    params, state = transformed.init(jax.random.key(0), x)

    def apply(params: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        return transformed.apply(params, state, None, x)

    return Model(params, state, apply)


def mlp(sizes: Sizes) -> Model:
    """Linear layers with relu between them."""

    def function(x: jax.Array) -> jax.Array:
        net = hk.nets.MLP([sizes.features] * sizes.depth)
        return net(x)

    return model(function, sizes.input("mlp"))


def cnn(sizes: Sizes) -> Model:
    """Convolutions with batch norm and relu."""

    def function(x: jax.Array) -> jax.Array:
        for channels in sizes.channels:
            x = hk.Conv2D(channels, 3, 2, with_bias=False)(x)
            x = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(x, is_training=True))
        return hk.Linear(10)(x.mean((1, 2)))

    return model(function, sizes.input("cnn"))


def encoder_layer(sizes: Sizes, x: jax.Array) -> jax.Array:
    """A transformer layer, its norms before its parts."""
    initializer = hk.initializers.VarianceScaling(1.0)
    h = hk.LayerNorm(-1, True, True)(x)
    attention = hk.MultiHeadAttention(
        sizes.heads, sizes.width // sizes.heads, w_init=initializer
    )
    x = x + attention(h, h, h)
    h = hk.Linear(4 * sizes.width)(hk.LayerNorm(-1, True, True)(x))
    return x + hk.Linear(sizes.width)(jax.nn.gelu(h))


def encoder(sizes: Sizes) -> Model:
    """Transformer layers in a Python loop."""

    def function(x: jax.Array) -> jax.Array:
        for _ in range(sizes.layers):
            x = encoder_layer(sizes, x)
        return x

    return model(function, sizes.input("encoder"))


def scanned_encoder(sizes: Sizes) -> Model:
    """Transformer layers in a scan."""

    def function(x: jax.Array) -> jax.Array:
        stack: Any = layer_stack(sizes.layers)
        return stack(lambda x: encoder_layer(sizes, x))(x)

    return model(function, sizes.input("encoder"))


def lstm(sizes: Sizes) -> Model:
    """An LSTM over the second axis."""

    def function(x: jax.Array) -> jax.Array:
        core = hk.LSTM(sizes.hidden)
        carry = core.initial_state(x.shape[0])
        outputs: Any = hk.dynamic_unroll(core, x, carry, time_major=False)
        return outputs[0]

    return model(function, sizes.input("lstm"))
