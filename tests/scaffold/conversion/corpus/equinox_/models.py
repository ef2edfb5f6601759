"""Modules of equinox: each is for one example."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray


class Linear(eqx.Module):
    """y = W x + b."""

    weight: jax.Array
    bias: jax.Array

    def __init__(self, in_size, out_size, key):
        wkey, bkey = jax.random.split(key)
        self.weight = jax.random.normal(wkey, (out_size, in_size))
        self.bias = jax.random.normal(bkey, (out_size,))

    def __call__(self, x):
        return self.weight @ x + self.bias


class NeuralNetwork(eqx.Module):
    layers: list
    extra_bias: jax.Array

    def __init__(self, in_size: int, out_size: int, *, key):
        key1, key2, key3 = jax.random.split(key, 3)
        self.layers = [
            eqx.nn.Linear(in_size, 8, key=key1),
            eqx.nn.Linear(8, 8, key=key2),
            eqx.nn.Linear(8, out_size, key=key3),
        ]
        # This is also a trainable parameter.
        self.extra_bias = jnp.ones(out_size)

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x) + self.extra_bias


class CNN(eqx.Module):
    layers: list

    def __init__(self, key):
        key1, key2, key3 = jax.random.split(key, 3)
        self.layers = [
            eqx.nn.Conv2d(1, 3, kernel_size=4, key=key1),
            eqx.nn.MaxPool2d(kernel_size=2),
            jax.nn.relu,
            jnp.ravel,
            eqx.nn.Linear(48, 16, key=key2),
            jax.nn.sigmoid,
            eqx.nn.Linear(16, 10, key=key3),
            jax.nn.log_softmax,
        ]

    def __call__(self, x: Float[Array, "1 8 8"]) -> Float[Array, "10"]:
        for layer in self.layers:
            x = layer(x)
        return x


class FeedForwardBlock(eqx.Module):
    """A single transformer feed forward block."""

    mlp: eqx.nn.Linear
    output: eqx.nn.Linear
    layernorm: eqx.nn.LayerNorm
    dropout: eqx.nn.Dropout

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        dropout_rate: float,
        key: PRNGKeyArray,
    ):
        mlp_key, output_key = jax.random.split(key)
        self.mlp = eqx.nn.Linear(
            in_features=hidden_size, out_features=intermediate_size, key=mlp_key
        )
        self.output = eqx.nn.Linear(
            in_features=intermediate_size, out_features=hidden_size, key=output_key
        )
        self.layernorm = eqx.nn.LayerNorm(shape=hidden_size)
        self.dropout = eqx.nn.Dropout(dropout_rate)

    def __call__(
        self,
        inputs: Float[Array, " hidden_size"],
        enable_dropout: bool = True,
        key: PRNGKeyArray | None = None,
    ) -> Float[Array, " hidden_size"]:
        hidden = self.mlp(inputs)
        hidden = jax.nn.gelu(hidden)
        output = self.output(hidden)
        output = self.dropout(output, inference=not enable_dropout, key=key)
        output += inputs
        output = self.layernorm(output)
        return output


class AttentionBlock(eqx.Module):
    """A single transformer attention block."""

    attention: eqx.nn.MultiheadAttention
    layernorm: eqx.nn.LayerNorm
    num_heads: int = eqx.field(static=True)

    def __init__(self, hidden_size: int, num_heads: int, key: PRNGKeyArray):
        self.num_heads = num_heads
        self.attention = eqx.nn.MultiheadAttention(
            num_heads=num_heads, query_size=hidden_size, key=key
        )
        self.layernorm = eqx.nn.LayerNorm(shape=hidden_size)

    def __call__(self, inputs: Float[Array, "seq_len hidden_size"], key=None):
        result = self.attention(query=inputs, key_=inputs, value=inputs)
        result = result + inputs
        return jax.vmap(self.layernorm)(result)


class MixerBlock(eqx.Module):
    patch_mixer: eqx.nn.MLP
    hidden_mixer: eqx.nn.MLP
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm

    def __init__(
        self, num_patches, hidden_size, mix_patch_size, mix_hidden_size, *, key
    ):
        tkey, ckey = jr.split(key, 2)
        self.patch_mixer = eqx.nn.MLP(
            num_patches, num_patches, mix_patch_size, depth=1, key=tkey
        )
        self.hidden_mixer = eqx.nn.MLP(
            hidden_size, hidden_size, mix_hidden_size, depth=1, key=ckey
        )
        self.norm1 = eqx.nn.LayerNorm(hidden_size)
        self.norm2 = eqx.nn.LayerNorm(hidden_size)

    def __call__(self, y: Float[Array, "num_patches hidden_size"]):
        y = y + jax.vmap(self.patch_mixer)(jax.vmap(self.norm1)(y).T).T
        y = y + jax.vmap(self.hidden_mixer)(jax.vmap(self.norm2)(y))
        return y


class Func(eqx.Module):
    """The vector field of a neural differential equation."""

    out_scale: jax.Array
    mlp: eqx.nn.MLP

    def __init__(self, data_size, width_size, depth, *, key):
        self.out_scale = jnp.array(1.0)
        self.mlp = eqx.nn.MLP(
            in_size=data_size,
            out_size=data_size,
            width_size=width_size,
            depth=depth,
            activation=jnp.tanh,
            final_activation=jnp.tanh,
            key=key,
        )

    def __call__(self, y):
        return self.out_scale * self.mlp(y)
