"""What several references use."""

import math

import numpy as np


def dense(weights, x):
    """An affine map, of a pair (kernel, bias)."""
    kernel, bias = weights
    return x @ kernel + bias


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def relu(x):
    return np.maximum(x, 0)


def gelu(x):
    """The approximation by tanh."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def logsumexp(x, axis=-1, keepdims=False):
    top = x.max(axis=axis, keepdims=True)
    result = top + np.log(np.exp(x - top).sum(axis=axis, keepdims=True))
    return result if keepdims else result.squeeze(axis)


def softmax(x, axis=-1):
    return np.exp(x - logsumexp(x, axis, keepdims=True))


def layer_norm(weights, x, epsilon=1e-5):
    """Of the last axis, with a pair (scale, bias)."""
    scale, bias = weights
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * scale + bias


def conv1d(x, kernel, dilation=1, causal=False):
    """(batch, time, channels) with a kernel (size, in, out), valid or padded on the left."""
    reach = (kernel.shape[0] - 1) * dilation
    if causal:
        x = np.pad(x, ((0, 0), (reach, 0), (0, 0)))
    length = x.shape[1] - reach
    taps = (
        x[:, k * dilation : k * dilation + length] @ w for k, w in enumerate(kernel)
    )
    return sum(taps)


def conv2d(x, kernel):
    """(batch, height, width, channels) with a kernel (height, width, in, out) of odd sizes.

    The result has the size of the input.
    """
    rows, columns = kernel.shape[:2]
    _, height, width, _ = x.shape
    halves = (rows // 2, rows // 2), (columns // 2, columns // 2)
    x = np.pad(x, ((0, 0), *halves, (0, 0)))
    return sum(
        x[:, i : i + height, j : j + width] @ kernel[i, j]
        for i in range(rows)
        for j in range(columns)
    )


def attention(q, k, v, scale, mask=None):
    """Of heads, (batch, length, heads, size)."""
    logits = np.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if mask is not None:
        logits = np.where(mask, logits, -1e9)
    return np.einsum("bhqk,bkhd->bqhd", softmax(logits), v)
