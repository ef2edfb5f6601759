"""The models in flax linen."""

from __future__ import annotations

from typing import Any

import jax
from flax import linen as nn
from tests.benchmarks.peers.model import Model, Sizes


class MLP(nn.Module):
    """Linear layers with relu between them."""

    sizes: Sizes

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for _ in range(self.sizes.depth - 1):
            x = nn.relu(nn.Dense(self.sizes.features)(x))
        return nn.Dense(self.sizes.features)(x)


class CNN(nn.Module):
    """Convolutions with batch norm and relu."""

    sizes: Sizes

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for channels in self.sizes.channels:
            x = nn.Conv(channels, (3, 3), 2, use_bias=False)(x)
            x = nn.relu(nn.BatchNorm(False, momentum=0.9)(x))
        return nn.Dense(10)(x.mean((1, 2)))


class EncoderLayer(nn.Module):
    """A transformer layer, its norms before its parts."""

    heads: int

    @nn.compact
    def __call__(self, x: jax.Array, _: Any = None) -> tuple[jax.Array, None]:
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(self.heads)(h, h)
        h = nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x))
        return x + nn.Dense(x.shape[-1])(nn.gelu(h)), None


class Encoder(nn.Module):
    """Transformer layers in a Python loop."""

    sizes: Sizes

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for _ in range(self.sizes.layers):
            x, _ = EncoderLayer(self.sizes.heads)(x)
        return x


class ScannedEncoder(nn.Module):
    """Transformer layers in a scan."""

    sizes: Sizes

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        scanned = nn.scan(
            EncoderLayer,
            variable_axes={"params": 0},
            split_rngs={"params": True},
            length=self.sizes.layers,
        )
        return scanned(self.sizes.heads)(x, None)[0]


class LSTM(nn.Module):
    """An LSTM over the second axis."""

    sizes: Sizes

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        rnn: Any = nn.RNN(nn.OptimizedLSTMCell(self.sizes.hidden))
        return rnn(x)


def model(module: Any, x: jax.Array) -> Model:
    """A linen module as a pure function."""
    variables = dict(module.init(jax.random.key(0), x))
    params = variables.pop("params")

    def apply(params: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        if not state:
            return module.apply({"params": params}, x), state
        return module.apply({"params": params, **state}, x, mutable=list(state))

    return Model(params, variables, apply)


def mlp(sizes: Sizes) -> Model:
    """See MLP."""
    return model(MLP(sizes), sizes.input("mlp"))


def cnn(sizes: Sizes) -> Model:
    """See CNN."""
    return model(CNN(sizes), sizes.input("cnn"))


def encoder(sizes: Sizes) -> Model:
    """See Encoder."""
    return model(Encoder(sizes), sizes.input("encoder"))


def scanned_encoder(sizes: Sizes) -> Model:
    """See ScannedEncoder."""
    return model(ScannedEncoder(sizes), sizes.input("encoder"))


def lstm(sizes: Sizes) -> Model:
    """See LSTM."""
    return model(LSTM(sizes), sizes.input("lstm"))
