"""The models in flax nnx, split into weights and state outside of the compiled function."""

from __future__ import annotations

from typing import Any

import jax
from flax import nnx
from tests.benchmarks.peers.model import Model, Sizes


class MLP(nnx.Module):
    """Linear layers with relu between them."""

    def __init__(self, sizes: Sizes, rngs: nnx.Rngs) -> None:
        n = sizes.features
        self.layers = nnx.List(
            [nnx.Linear(n, n, rngs=rngs) for _ in range(sizes.depth)]
        )

    def __call__(self, x: jax.Array) -> jax.Array:
        for layer in self.layers[:-1]:
            x = nnx.relu(layer(x))
        return self.layers[-1](x)


class CNN(nnx.Module):
    """Convolutions with batch norm and relu."""

    def __init__(self, sizes: Sizes, rngs: nnx.Rngs) -> None:
        inner = (3, *sizes.channels[:-1])
        pairs = zip(inner, sizes.channels, strict=True)
        self.convolutions = nnx.List(
            [nnx.Conv(a, b, (3, 3), 2, use_bias=False, rngs=rngs) for a, b in pairs]
        )
        self.norms = nnx.List(
            [nnx.BatchNorm(n, momentum=0.9, rngs=rngs) for n in sizes.channels]
        )
        self.last = nnx.Linear(sizes.channels[-1], 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = nnx.relu(norm(convolution(x)))
        return self.last(x.mean((1, 2)))


class EncoderLayer(nnx.Module):
    """A transformer layer, its norms before its parts."""

    def __init__(self, sizes: Sizes, rngs: nnx.Rngs) -> None:
        n = sizes.width
        self.norm1 = nnx.LayerNorm(n, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(sizes.heads, n, decode=False, rngs=rngs)
        self.norm2 = nnx.LayerNorm(n, rngs=rngs)
        self.up = nnx.Linear(n, 4 * n, rngs=rngs)
        self.down = nnx.Linear(4 * n, n, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + self.attention(self.norm1(x))
        return x + self.down(nnx.gelu(self.up(self.norm2(x))))


class Encoder(nnx.Module):
    """Transformer layers in a Python loop."""

    def __init__(self, sizes: Sizes, rngs: nnx.Rngs) -> None:
        self.layers = nnx.List([EncoderLayer(sizes, rngs) for _ in range(sizes.layers)])

    def __call__(self, x: jax.Array) -> jax.Array:
        for layer in self.layers:
            x = layer(x)
        return x


class LSTM(nnx.Module):
    """An LSTM over the second axis."""

    def __init__(self, sizes: Sizes, rngs: nnx.Rngs) -> None:
        n = sizes.hidden
        self.rnn: Any = nnx.RNN(nnx.OptimizedLSTMCell(n, n, rngs=rngs), rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.rnn(x)


def model(module: nnx.Module) -> Model:
    """An nnx module as a pure function."""
    graph, params, rest = nnx.split(module, nnx.Param, ...)

    def apply(params: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        merged: Any = nnx.merge(graph, params, state, copy=True)
        y = merged(x)
        return y, nnx.split(merged, nnx.Param, ...)[2]

    return Model(params, rest, apply)


def mlp(sizes: Sizes) -> Model:
    """See MLP."""
    return model(MLP(sizes, nnx.Rngs(0)))


def cnn(sizes: Sizes) -> Model:
    """See CNN."""
    return model(CNN(sizes, nnx.Rngs(0)))


def encoder(sizes: Sizes) -> Model:
    """See Encoder."""
    return model(Encoder(sizes, nnx.Rngs(0)))


def lstm(sizes: Sizes) -> Model:
    """See LSTM."""
    return model(LSTM(sizes, nnx.Rngs(0)))
