"""The layers, written by hand in plain JAX: what the generated ones may cost.

Each takes `(x, weights, state, key)`, with weights and state as plain tuples in the
order of the layer's fields, and returns `(y, state)`. Sizes are those of the arrays;
other hyperparameters are the defaults of the layers, in training.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

EPSILON = 1e-5

Result = tuple[Any, Any]


def linear(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """An affine map of the last axis."""
    kernel, bias = weights
    y = x.reshape(-1, x.shape[-1]) @ kernel + bias
    return y.reshape(*x.shape[:-1], -1), state


def bias(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Adds a weight to the last axis."""
    return x + weights[0], state


def scaler(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Multiplies the last axis by a weight."""
    return x * weights[0], state


def relu(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """The larger of x and 0."""
    return jax.nn.relu(x), state


def embed(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Rows of a table."""
    return jnp.take(weights[0], x, axis=0), state


def conv(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Convolution of NCHW with OIHW, padded to the same size."""
    kernel, bias = weights
    y = lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")
    )
    return y + bias[:, None, None], state


def _moments(x: jax.Array, axis: tuple[int, ...]) -> tuple[jax.Array, ...]:
    """Mean, deviation, variance: the mean is subtracted once."""
    mean = jnp.mean(x, axis, keepdims=True)
    deviation = x - mean
    return mean, deviation, jnp.mean(deviation**2, axis, keepdims=True)


def layer_norm(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Normalizes the last axis."""
    scale, bias = weights
    _, deviation, var = _moments(x, (-1,))
    return deviation * lax.rsqrt(var + EPSILON) * scale + bias, state


def group_norm(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Normalizes two groups of channels of (batch, channels, height, width)."""
    scale, bias = weights
    grouped = x.reshape(x.shape[0], 2, -1)
    _, deviation, var = _moments(grouped, (-1,))
    y = (deviation * lax.rsqrt(var + EPSILON)).reshape(x.shape)
    return y * scale[:, None, None] + bias[:, None, None], state


def batch_norm(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Normalizes channels of (batch, channels, height, width), and averages moments."""
    scale, bias = weights
    old_mean, old_var = state
    mean, deviation, var = _moments(x, (0, 2, 3))
    y = deviation * lax.rsqrt(var + EPSILON)
    y = y * scale[:, None, None] + bias[:, None, None]
    mean, var = mean.reshape(-1), var.reshape(-1)
    momentum = 0.9
    new_mean = old_mean + (1.0 - momentum) * (mean - old_mean)
    # As the layer's: what is infinite once stays so.
    var = jnp.minimum(var, jnp.finfo(var.dtype).max)
    new_var = old_var + (1.0 - momentum) * (var - old_var)
    return y, (new_mean, new_var)


def dropout(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Drops half of the elements."""
    keep = jax.random.bernoulli(key, 0.5, x.shape)
    return jnp.where(keep, x / 0.5, jnp.zeros_like(x)), state


def lstm_cell(x: Any, weights: Any, state: Any, key: Any) -> Result:
    """One step of a long short-term memory."""
    inputs, (c, h) = x
    kernel, recurrent_kernel, bias = weights
    gates = inputs @ kernel + h @ recurrent_kernel + bias
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, (c, h)), state


def spectral_norm(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Divides a matrix by its largest singular value, after one power iteration."""
    epsilon = 1e-12

    def unit(u: jax.Array) -> jax.Array:
        return u * lax.rsqrt(jnp.sum(u**2) + epsilon)

    fixed = lax.stop_gradient(x)
    u = unit(fixed.T @ (fixed @ unit(state[0])))
    return x / jnp.sqrt(jnp.sum((x @ u) ** 2) + epsilon), (u,)


def _softmax(logits: jax.Array) -> jax.Array:
    # As the layer's: zero, not NaN, where a position may attend to nothing.
    top = lax.stop_gradient(logits.max(-1, keepdims=True))
    weights = jnp.exp(logits - jnp.where(top == -jnp.inf, 0.0, top))
    total = weights.sum(-1, keepdims=True)
    return weights / jnp.where(total == 0.0, 1.0, total)


def attention(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Causal self-attention with four heads."""
    batch, time, features = x.shape
    heads = 4
    size = features // heads
    query, keys, values, output, *_ = weights

    def project(pair: Any) -> jax.Array:
        return linear(x, pair, None, None)[0].reshape(batch, time, heads, size)

    q, k, v = project(query) * size**-0.5, project(keys), project(values)
    logits = jnp.einsum("bqhf,bkhf->bhqk", q, k)
    logits = jnp.where(jnp.tri(time, dtype=bool), logits, -jnp.inf)
    y = jnp.einsum("bhqk,bkhf->bqhf", _softmax(logits), v)
    return linear(y.reshape(x.shape), output, None, None)[0], state


def series(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """Two linear layers with relu between."""
    first, _, second = weights
    x = jax.nn.relu(linear(x, first, None, None)[0])
    return linear(x, second, None, None)[0], state


def parallel(x: Any, weights: Any, state: Any, key: Any) -> Result:
    """Two linear layers, each with an input of its own."""
    pairs = zip(x, weights, strict=True)
    return tuple(linear(part, w, None, None)[0] for part, w in pairs), state


def residual(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """X plus a linear map of it."""
    return x + linear(x, weights, None, None)[0], state


def repeat(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """A linear layer, several times, in a scan over stacked weights."""

    def step(x: jax.Array, weights: Any) -> tuple[jax.Array, None]:
        return linear(x, weights, None, None)[0], None

    return lax.scan(step, x, weights)[0], state


def recurrent(x: jax.Array, weights: Any, state: Any, key: Any) -> Result:
    """A long short-term memory over the second-to-last axis, in a scan."""
    start = jnp.zeros((*x.shape[:-2], weights[1].shape[0]), x.dtype)

    def step(carry: Any, inputs: jax.Array) -> tuple[Any, jax.Array]:
        (y, carry), _ = lstm_cell((inputs, carry), weights, None, None)
        return carry, y

    _, y = lax.scan(step, (start, start), jnp.moveaxis(x, -2, 0))
    return jnp.moveaxis(y, 0, -2), state
