"""A convolutional decoder and a recurrent policy, as people write them."""

import math
from typing import Any, Sequence, Callable

import flax.linen as nn
import jax
import jax.numpy as jnp


class Upsampler(nn.Module):
    """Decoder of a DCGAN, with kernels as in TensorFlow."""

    features: Sequence[int] = (16, 8)
    channels: int = 3

    @nn.compact
    def __call__(self, z, train: bool = True):
        x = nn.Dense(4 * 4 * self.features[0])(z)
        x = x.reshape((x.shape[0], 4, 4, self.features[0]))
        for f in self.features:
            x = nn.ConvTranspose(
                f,
                (4, 4),
                strides=(2, 2),
                padding="SAME",
                transpose_kernel=True,
                use_bias=False,
            )(x)
            x = nn.BatchNorm(use_running_average=not train, momentum=0.99)(x)
            x = nn.relu(x)
        return nn.tanh(nn.Conv(self.channels, (3, 3))(x))


class ActorCritic(nn.Module):
    """PPO's network."""

    action_dim: int
    activation: str = "tanh"

    @nn.compact
    def __call__(self, x):
        if self.activation == "relu":
            activation = nn.relu
        else:
            activation = nn.tanh
        actor_mean = nn.Dense(
            64,
            kernel_init=nn.initializers.orthogonal(jnp.sqrt(2)),
            bias_init=nn.initializers.constant(0.0),
        )(x)
        actor_mean = activation(actor_mean)
        actor_mean = nn.Dense(
            self.action_dim, kernel_init=nn.initializers.orthogonal(0.01)
        )(actor_mean)
        log_std = self.param("log_std", nn.initializers.zeros, (self.action_dim,))
        critic = nn.Dense(64, kernel_init=nn.initializers.orthogonal(jnp.sqrt(2)))(x)
        critic = activation(critic)
        critic = nn.Dense(1, kernel_init=nn.initializers.orthogonal(1.0))(critic)
        return actor_mean, jnp.exp(log_std), jnp.squeeze(critic, axis=-1)


class LanguageModel(nn.Module):
    """A small decoder with tied embeddings."""

    vocab_size: int
    d_model: int
    n_heads: int
    n_layers: int
    max_len: int = 128
    dropout: float = 0.0

    def setup(self):
        self.embed = nn.Embed(self.vocab_size, self.d_model)
        self.pos = self.param(
            "pos", nn.initializers.normal(0.02), (self.max_len, self.d_model)
        )
        self.blocks = [
            DecoderBlock(self.d_model, self.n_heads, self.dropout)
            for _ in range(self.n_layers)
        ]
        self.ln_f = nn.LayerNorm()

    def __call__(self, tokens, deterministic=True):
        t = tokens.shape[1]
        x = self.embed(tokens) + self.pos[:t]
        for block in self.blocks:
            x = block(x, deterministic)
        x = self.ln_f(x)
        return self.embed.attend(x)


class DecoderBlock(nn.Module):
    d_model: int
    n_heads: int
    dropout: float

    @nn.compact
    def __call__(self, x, deterministic):
        mask = nn.make_causal_mask(x[..., 0])
        y = nn.LayerNorm()(x)
        y = nn.MultiHeadDotProductAttention(
            num_heads=self.n_heads,
            dropout_rate=self.dropout,
            deterministic=deterministic,
        )(y, y, mask=mask)
        x = x + y
        y = nn.LayerNorm()(x)
        y = nn.Dense(4 * self.d_model)(y)
        y = nn.gelu(y)
        y = nn.Dense(self.d_model)(y)
        y = nn.Dropout(self.dropout)(y, deterministic=deterministic)
        return x + y


class TimeEmbedding(nn.Module):
    """Sinusoids of a time, and a map."""

    dim: int = 16

    @nn.compact
    def __call__(self, times):
        half = self.dim // 2
        freqs = jnp.exp(
            jnp.arange(half, dtype=jnp.float32) * -(math.log(10000.0) / (half - 1))
        )
        emb = times[:, None] * freqs[None, :]
        emb = jnp.concatenate([jnp.sin(emb), jnp.cos(emb)], axis=-1)
        return nn.Dense(self.dim)(emb)
