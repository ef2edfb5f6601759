"""Functions over arrays."""

import jax
import jax.numpy as jnp
import numpy as np


def rms_normalize(x, weight=None, *, eps: float = 1e-6, axis=-1):
    """Root mean square."""
    y = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=axis, keepdims=True) + eps)
    return y if weight is None else y * weight


def soft_cross_entropy(logits, labels):
    """Cross entropy of soft labels."""
    return -jnp.sum(labels * jax.nn.log_softmax(logits, axis=-1), axis=-1)


def rotate_half(x):
    """Rotates half the hidden dims of the input."""
    x1, x2 = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((-x2, x1), axis=-1)


def apply_rotary(x, cos, sin):
    return x * cos + rotate_half(x) * sin


def huber(predictions, targets, delta: float = 1.0):
    errors = jnp.abs(predictions - targets)
    quadratic = jnp.minimum(errors, delta)
    return 0.5 * quadratic**2 + delta * (errors - quadratic)


def standardized(x: np.ndarray, epsilon: float = 1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + epsilon)


def swish_beta(x, beta=1.0):
    return x * jax.nn.sigmoid(beta * x)
