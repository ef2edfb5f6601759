"""Models of flax linen, as its examples write them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

ModuleDef = Any


class MLP(nn.Module):
    """A perceptron."""

    features: Sequence[int]

    @nn.compact
    def __call__(self, x):
        for feat in self.features[:-1]:
            x = nn.relu(nn.Dense(feat)(x))
        x = nn.Dense(self.features[-1])(x)
        return x


class ExplicitMLP(nn.Module):
    features: Sequence[int]

    def setup(self):
        self.layers = [nn.Dense(feat) for feat in self.features]

    def __call__(self, inputs):
        x = inputs
        for i, lyr in enumerate(self.layers):
            x = lyr(x)
            if i != len(self.layers) - 1:
                x = nn.relu(x)
        return x


class CNN(nn.Module):
    """A simple CNN model."""

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(features=32, kernel_size=(3, 3))(x)
        x = nn.relu(x)
        x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = nn.Conv(features=64, kernel_size=(3, 3))(x)
        x = nn.relu(x)
        x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = x.reshape((x.shape[0], -1))  # flatten
        x = nn.Dense(features=256)(x)
        x = nn.relu(x)
        x = nn.Dense(features=10)(x)
        return x


class ResNetBlock(nn.Module):
    """ResNet block."""

    filters: int
    strides: tuple[int, int] = (1, 1)

    @nn.compact
    def __call__(self, x, train: bool = True):
        conv = partial(nn.Conv, use_bias=False)
        norm = partial(
            nn.BatchNorm, use_running_average=not train, momentum=0.9, epsilon=1e-5
        )
        residual = x
        y = conv(self.filters, (3, 3), self.strides)(x)
        y = norm()(y)
        y = nn.relu(y)
        y = conv(self.filters, (3, 3))(y)
        y = norm(scale_init=nn.initializers.zeros_init())(y)

        if residual.shape != y.shape:
            residual = conv(self.filters, (1, 1), self.strides, name="conv_proj")(
                residual
            )
            residual = norm(name="norm_proj")(residual)

        return nn.relu(residual + y)


class MlpBlock(nn.Module):
    """Transformer MLP / feed-forward block."""

    mlp_dim: int
    out_dim: int | None = None
    dropout_rate: float = 0.1
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, inputs, *, deterministic):
        actual_out_dim = inputs.shape[-1] if self.out_dim is None else self.out_dim
        x = nn.Dense(
            features=self.mlp_dim,
            dtype=self.dtype,
            kernel_init=nn.initializers.xavier_uniform(),
        )(inputs)
        x = nn.gelu(x)
        x = nn.Dropout(rate=self.dropout_rate)(x, deterministic=deterministic)
        output = nn.Dense(features=actual_out_dim, dtype=self.dtype)(x)
        output = nn.Dropout(rate=self.dropout_rate)(output, deterministic=deterministic)
        return output


class Encoder1DBlock(nn.Module):
    """Transformer encoder layer."""

    mlp_dim: int
    num_heads: int
    dropout_rate: float = 0.1

    @nn.compact
    def __call__(self, inputs, *, deterministic):
        x = nn.LayerNorm()(inputs)
        x = nn.MultiHeadDotProductAttention(
            num_heads=self.num_heads,
            kernel_init=nn.initializers.xavier_uniform(),
            broadcast_dropout=False,
            deterministic=deterministic,
            dropout_rate=self.dropout_rate,
        )(x, x)
        x = nn.Dropout(rate=self.dropout_rate)(x, deterministic=deterministic)
        x = x + inputs
        y = nn.LayerNorm()(x)
        y = MlpBlock(mlp_dim=self.mlp_dim, dropout_rate=self.dropout_rate)(
            y, deterministic=deterministic
        )
        return x + y


class Encoder(nn.Module):
    """A stack of blocks with learned positions."""

    num_layers: int
    mlp_dim: int
    num_heads: int

    @nn.compact
    def __call__(self, x, *, train):
        pos = self.param(
            "pos_embedding",
            nn.initializers.normal(stddev=0.02),
            (1, x.shape[1], x.shape[2]),
        )
        x = x + pos
        for lyr in range(self.num_layers):
            x = Encoder1DBlock(
                self.mlp_dim, self.num_heads, name=f"encoderblock_{lyr}"
            )(x, deterministic=not train)
        return nn.LayerNorm(name="encoder_norm")(x)


class VAE(nn.Module):
    """Full VAE model."""

    latents: int = 20
    hidden: int = 64
    out: int = 784

    def setup(self):
        self.fc1 = nn.Dense(self.hidden)
        self.fc2_mean = nn.Dense(self.latents)
        self.fc2_logvar = nn.Dense(self.latents)
        self.fc3 = nn.Dense(self.hidden)
        self.fc4 = nn.Dense(self.out)

    def encode(self, x):
        x = nn.relu(self.fc1(x))
        return self.fc2_mean(x), self.fc2_logvar(x)

    def decode(self, z):
        return self.fc4(nn.relu(self.fc3(z)))

    def __call__(self, x, z_rng):
        mean, logvar = self.encode(x)
        z = reparameterize(z_rng, mean, logvar)
        recon_x = self.decode(z)
        return recon_x, mean, logvar


def reparameterize(rng, mean, logvar):
    std = jnp.exp(0.5 * logvar)
    eps = jax.random.normal(rng, logvar.shape)
    return mean + eps * std


class RMSNorm(nn.Module):
    epsilon: float = 1e-6

    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones, (x.shape[-1],))
        variance = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
        return x * jax.lax.rsqrt(variance + self.epsilon) * scale


class SqueezeExcite(nn.Module):
    reduction: int = 4

    @nn.compact
    def __call__(self, x):
        channels = x.shape[-1]
        y = jnp.mean(x, axis=(1, 2), keepdims=True)
        y = nn.Dense(channels // self.reduction)(y)
        y = nn.relu(y)
        y = nn.Dense(channels)(y)
        return x * nn.sigmoid(y)


class LoRADense(nn.Module):
    features: int
    rank: int = 4
    alpha: float = 1.0

    @nn.compact
    def __call__(self, x):
        y = nn.Dense(self.features, name="base")(x)
        a = self.param("lora_a", nn.initializers.normal(0.02), (x.shape[-1], self.rank))
        b = self.param(
            "lora_b", nn.initializers.zeros_init(), (self.rank, self.features)
        )
        return y + self.alpha / self.rank * (x @ a @ b)


class GatedMLP(nn.Module):
    hidden_dim: int
    act: Callable = nn.silu
    use_bias: bool = False

    @nn.compact
    def __call__(self, x):
        gate = nn.Dense(self.hidden_dim, use_bias=self.use_bias, name="gate_proj")(x)
        up = nn.Dense(self.hidden_dim, use_bias=self.use_bias, name="up_proj")(x)
        return nn.Dense(x.shape[-1], use_bias=self.use_bias, name="down_proj")(
            self.act(gate) * up
        )


class RunningMean(nn.Module):
    """Keeps a moving mean of its inputs."""

    decay: float = 0.9

    @nn.compact
    def __call__(self, x, train: bool):
        ra_mean = self.variable(
            "batch_stats", "mean", lambda s: jnp.zeros(s), x.shape[1:]
        )
        if train:
            ra_mean.value = self.decay * ra_mean.value + (1.0 - self.decay) * jnp.mean(
                x, axis=0
            )
        return x - ra_mean.value


class MultiHeadAttention(nn.Module):
    """Attention, written out with DenseGeneral."""

    heads: int
    head_dim: int

    @nn.compact
    def __call__(self, x):
        features = x.shape[-1]
        query = nn.DenseGeneral((self.heads, self.head_dim), name="query")(x)
        key = nn.DenseGeneral((self.heads, self.head_dim), name="key")(x)
        value = nn.DenseGeneral((self.heads, self.head_dim), name="value")(x)
        logits = jnp.einsum("...qhd,...khd->...hqk", query, key) / jnp.sqrt(
            self.head_dim
        )
        weights = nn.softmax(logits)
        out = jnp.einsum("...hqk,...khd->...qhd", weights, value)
        return nn.DenseGeneral(features, axis=(-2, -1), name="out")(out)
