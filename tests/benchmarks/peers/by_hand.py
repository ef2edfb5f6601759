"""The models in plain JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from tests.benchmarks.peers.model import Model, Sizes

LECUN = jax.nn.initializers.lecun_normal()
KEY = jax.random.key(0)


def affine(key: jax.Array, inner: int, outer: int) -> dict[str, jax.Array]:
    """Weights of an affine map."""
    return {"kernel": LECUN(key, (inner, outer)), "bias": jnp.zeros(outer)}


def linear(w: Any, x: jax.Array) -> jax.Array:
    """An affine map of the last axis."""
    return x @ w["kernel"] + w["bias"]


def mlp(sizes: Sizes) -> Model:
    """Linear layers with relu between them."""
    keys = jax.random.split(KEY, sizes.depth)
    weights = [affine(key, sizes.features, sizes.features) for key in keys]

    def apply(weights: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        for w in weights[:-1]:
            x = jax.nn.relu(linear(w, x))
        return linear(weights[-1], x), state

    return Model(weights, None, apply)


def cnn(sizes: Sizes) -> Model:
    """Convolutions with batch norm and relu, global average pooling, a linear layer."""
    inner, weights, states = 3, [], []
    initializer = jax.nn.initializers.lecun_normal()
    for key, outer in zip(
        jax.random.split(KEY, len(sizes.channels)), sizes.channels, strict=True
    ):
        weights.append(
            {
                "kernel": initializer(key, (3, 3, inner, outer)),
                "scale": jnp.ones(outer),
                "bias": jnp.zeros(outer),
            }
        )
        states.append({"mean": jnp.zeros(outer), "var": jnp.ones(outer)})
        inner = outer

    def block(w: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        layout = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(
            x, w["kernel"], (2, 2), "SAME", dimension_numbers=layout
        )
        mean = jnp.mean(x, (0, 1, 2))
        var = jnp.mean(jnp.square(x - mean), (0, 1, 2))
        new = {
            "mean": 0.9 * state["mean"] + 0.1 * mean,
            "var": 0.9 * state["var"] + 0.1 * var,
        }
        scale = w["scale"] * lax.rsqrt(var + 1e-5)
        return jax.nn.relu((x - mean) * scale + w["bias"]), new

    def apply(weights: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        convolutions, last = weights
        new = []
        for w, old in zip(convolutions, state, strict=True):
            x, averages = block(w, old, x)
            new.append(averages)
        return linear(last, jnp.mean(x, (1, 2))), new

    return Model((weights, affine(KEY, inner, 10)), states, apply)


def layer_norm(w: Any, x: jax.Array) -> jax.Array:
    """Layer normalization of the last axis."""
    mean = jnp.mean(x, -1, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-6) * w["scale"] + w["bias"]


def encoder_layer(width: int, key: jax.Array) -> dict[str, Any]:
    """Weights of a transformer layer, its norms before its parts."""
    keys = jax.random.split(key, 6)
    norm = {"scale": jnp.ones(width), "bias": jnp.zeros(width)}
    return {
        "norm1": norm,
        "query": affine(keys[0], width, width),
        "key": affine(keys[1], width, width),
        "value": affine(keys[2], width, width),
        "output": affine(keys[3], width, width),
        "norm2": norm,
        "up": affine(keys[4], width, 4 * width),
        "down": affine(keys[5], 4 * width, width),
    }


def apply_encoder_layer(w: Any, x: jax.Array, heads: int) -> jax.Array:
    """A transformer layer."""
    h = layer_norm(w["norm1"], x)
    per_head = (*x.shape[:-1], heads, x.shape[-1] // heads)
    q, k, v = (linear(w[n], h).reshape(per_head) for n in ("query", "key", "value"))
    logits = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (per_head[-1] ** -0.5)
    y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(logits), v)
    x = x + linear(w["output"], y.reshape(x.shape))
    h = layer_norm(w["norm2"], x)
    return x + linear(w["down"], jax.nn.gelu(linear(w["up"], h)))


def encoder(sizes: Sizes) -> Model:
    """Transformer layers in a Python loop."""
    keys = jax.random.split(KEY, sizes.layers)
    weights = [encoder_layer(sizes.width, key) for key in keys]

    def apply(weights: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        for w in weights:
            x = apply_encoder_layer(w, x, sizes.heads)
        return x, state

    return Model(weights, None, apply)


def lstm(sizes: Sizes) -> Model:
    """An LSTM whose gates are one product of [input, hidden state] in the scan."""
    hidden = sizes.hidden
    weights = affine(KEY, 2 * hidden, 4 * hidden)

    def apply(w: Any, state: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        def cell(carry: Any, x: jax.Array) -> tuple[Any, jax.Array]:
            c, h = carry
            gates = linear(w, jnp.concatenate([x, h], -1))
            i, f, g, o = jnp.split(gates, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (c, h), h

        zeros = jnp.zeros((x.shape[0], hidden))
        _, y = lax.scan(cell, (zeros, zeros), x.swapaxes(0, 1))
        return y.swapaxes(0, 1), state

    return Model(weights, None, apply)
