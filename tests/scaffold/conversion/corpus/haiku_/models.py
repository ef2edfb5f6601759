"""Modules of haiku."""

from collections.abc import Sequence

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np


class MyLinear(hk.Module):
    def __init__(self, output_size, name=None):
        super().__init__(name=name)
        self.output_size = output_size

    def __call__(self, x):
        j, k = x.shape[-1], self.output_size
        w_init = hk.initializers.TruncatedNormal(1.0 / np.sqrt(j))
        w = hk.get_parameter("w", shape=[j, k], dtype=x.dtype, init=w_init)
        b = hk.get_parameter("b", shape=[k], dtype=x.dtype, init=jnp.zeros)
        return jnp.dot(x, w) + b


class CNN(hk.Module):
    """A small network of convolutions."""

    def __init__(self, num_classes: int, name: str = "cnn"):
        super().__init__(name)
        self.conv1 = hk.Conv2D(output_channels=8, kernel_shape=(3, 3), padding="SAME")
        self.conv2 = hk.Conv2D(16, 3, stride=2)
        self.flatten = hk.Flatten()
        self.linear = hk.Linear(num_classes)

    def __call__(self, x_batch):
        x = self.conv1(x_batch)
        x = jax.nn.relu(x)
        x = self.conv2(x)
        x = jax.nn.relu(x)
        x = self.flatten(x)
        return self.linear(x)


def layer_norm(x):
    """Applies a unique LayerNorm to x with default settings."""
    ln = hk.LayerNorm(axis=-1, create_scale=True, create_offset=True)
    return ln(x)


class Transformer(hk.Module):
    """A transformer stack."""

    def __init__(
        self,
        num_heads: int,
        num_layers: int,
        key_size: int,
        dropout_rate: float,
        widening_factor: int = 4,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.num_heads = num_heads
        self.num_layers = num_layers
        self.key_size = key_size
        self.dropout_rate = dropout_rate
        self.widening_factor = widening_factor

    def __call__(self, embeddings, *, is_training: bool = True):
        initializer = hk.initializers.VarianceScaling(2 / self.num_layers)
        dropout_rate = self.dropout_rate if is_training else 0.0
        _, seq_len, model_size = embeddings.shape
        h = embeddings
        for _ in range(self.num_layers):
            # First the attention block.
            attn_block = hk.MultiHeadAttention(
                num_heads=self.num_heads,
                key_size=self.key_size,
                model_size=model_size,
                w_init=initializer,
            )
            h_norm = layer_norm(h)
            h_attn = attn_block(h_norm, h_norm, h_norm)
            h_attn = hk.dropout(hk.next_rng_key(), dropout_rate, h_attn)
            h = h + h_attn

            # Then the dense block.
            dense_block = hk.Sequential(
                [
                    hk.Linear(self.widening_factor * model_size, w_init=initializer),
                    jax.nn.gelu,
                    hk.Linear(model_size, w_init=initializer),
                ]
            )
            h_norm = layer_norm(h)
            h = h + dense_block(h_norm)
        return layer_norm(h)


def net_fn(images: jax.Array) -> jax.Array:
    """Standard LeNet-300-100 MLP network."""
    mlp = hk.Sequential(
        [
            hk.Flatten(),
            hk.Linear(300),
            jax.nn.relu,
            hk.Linear(100),
            jax.nn.relu,
            hk.Linear(10),
        ]
    )
    return mlp(images)


class Encoder(hk.Module):
    """Encoder model of a VAE."""

    def __init__(self, latent_size: int, hidden_size: int = 512):
        super().__init__(name="encoder")
        self._latent_size = latent_size
        self._hidden_size = hidden_size

    def __call__(self, x):
        x = hk.Flatten()(x)
        x = hk.Linear(self._hidden_size)(x)
        x = jax.nn.relu(x)
        mean = hk.Linear(self._latent_size)(x)
        log_stddev = hk.Linear(self._latent_size)(x)
        stddev = jnp.exp(log_stddev)
        return mean, stddev


class MLP(hk.Module):
    def __init__(self, output_sizes: Sequence[int], name=None):
        super().__init__(name=name)
        self.layers = [
            hk.Linear(size, name=f"linear_{i}") for i, size in enumerate(output_sizes)
        ]

    def __call__(self, inputs):
        num_layers = len(self.layers)
        out = inputs
        for i, layer in enumerate(self.layers):
            out = layer(out)
            if i < num_layers - 1:
                out = jax.nn.relu(out)
        return out


class Scale(hk.Module):
    """Multiplies by a weight, and counts."""

    def __call__(self, x):
        count = hk.get_state("count", shape=[], dtype=jnp.int32, init=jnp.zeros)
        hk.set_state("count", count + 1)
        scale = hk.get_parameter("scale", [x.shape[-1]], init=jnp.ones)
        return x * scale
