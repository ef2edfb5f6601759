"""The models in equinox, mapped over the batch with vmap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from tests.benchmarks.peers.model import Model, Sizes

KEY = jax.random.key(0)


def model(module: Any, call: Callable[[Any, jax.Array], jax.Array]) -> Model:
    """An equinox module without state as a pure function."""
    arrays, rest = eqx.partition(module, eqx.is_inexact_array)

    def apply(arrays: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        combined = eqx.combine(arrays, rest)
        return jax.vmap(lambda row: call(combined, row))(x), state

    return Model(arrays, None, apply)


def mlp(sizes: Sizes) -> Model:
    """Linear layers with relu between them."""
    n = sizes.features
    module = eqx.nn.MLP(n, n, n, sizes.depth - 1, jax.nn.relu, key=KEY)
    return model(module, lambda mlp, x: mlp(x))


class CNN(eqx.Module):
    """Convolutions with batch norm and relu, channels first."""

    convolutions: list[eqx.nn.Conv2d]
    norms: list[eqx.nn.BatchNorm]
    last: eqx.nn.Linear

    def __init__(self, sizes: Sizes) -> None:
        inner = (3, *sizes.channels[:-1])
        keys = jax.random.split(KEY, len(inner))
        pairs = zip(inner, sizes.channels, keys, strict=True)
        self.convolutions = [
            eqx.nn.Conv2d(a, b, 3, 2, "SAME", use_bias=False, key=key)
            for a, b, key in pairs
        ]
        self.norms = [
            eqx.nn.BatchNorm(n, "batch", momentum=0.9, mode="batch")
            for n in sizes.channels
        ]
        self.last = eqx.nn.Linear(sizes.channels[-1], 10, key=KEY)

    def __call__(self, x: jax.Array, state: eqx.nn.State) -> Any:
        x = jnp.moveaxis(x, -1, 0)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x, state = norm(convolution(x), state)
            x = jax.nn.relu(x)
        return self.last(x.mean((1, 2))), state


def cnn(sizes: Sizes) -> Model:
    """See CNN."""
    module, state = eqx.nn.make_with_state(CNN)(sizes)
    arrays, rest = eqx.partition(module, eqx.is_inexact_array)

    def apply(arrays: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        combined = eqx.combine(arrays, rest)
        mapped = jax.vmap(
            combined, axis_name="batch", in_axes=(0, None), out_axes=(0, None)
        )
        return mapped(x, state)

    return Model(arrays, state, apply)


class EncoderLayer(eqx.Module):
    """A transformer layer, its norms before its parts."""

    norm1: eqx.nn.LayerNorm
    attention: eqx.nn.MultiheadAttention
    norm2: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, sizes: Sizes, key: jax.Array) -> None:
        n = sizes.width
        bias = dict.fromkeys(
            (
                "use_query_bias",
                "use_key_bias",
                "use_value_bias",
                "use_output_bias",
            ),
            True,
        )
        keys = jax.random.split(key, 3)
        self.norm1 = eqx.nn.LayerNorm(n)
        self.attention = eqx.nn.MultiheadAttention(sizes.heads, n, key=keys[0], **bias)
        self.norm2 = eqx.nn.LayerNorm(n)
        self.up = eqx.nn.Linear(n, 4 * n, key=keys[1])
        self.down = eqx.nn.Linear(4 * n, n, key=keys[2])

    def __call__(self, x: jax.Array) -> jax.Array:
        h = jax.vmap(self.norm1)(x)
        x = x + self.attention(h, h, h)
        h = jax.nn.gelu(jax.vmap(self.up)(jax.vmap(self.norm2)(x)))
        return x + jax.vmap(self.down)(h)


def encoder(sizes: Sizes) -> Model:
    """Transformer layers in a Python loop."""
    keys = jax.random.split(KEY, sizes.layers)
    layers = [EncoderLayer(sizes, key) for key in keys]

    def call(layers: Any, x: jax.Array) -> jax.Array:
        for layer in layers:
            x = layer(x)
        return x

    return model(layers, call)


def lstm(sizes: Sizes) -> Model:
    """An LSTM over the second axis."""
    n = sizes.hidden

    def call(cell: Any, x: jax.Array) -> jax.Array:
        def step(carry: Any, x: jax.Array) -> tuple[Any, jax.Array]:
            carry = cell(x, carry)
            return carry, carry[0]

        return lax.scan(step, (jnp.zeros(n), jnp.zeros(n)), x)[1]

    return model(eqx.nn.LSTMCell(n, n, key=KEY), call)
