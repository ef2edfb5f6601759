"""Yang et al., 2024, arXiv:2412.06464, equation 10. One head of one sequence after another."""

import numpy as np

from .common import dense, sigmoid


def gated_delta_net(x, qkv, gates, scale, out, heads):
    """x: (batch, time, dim); qkv and out: kernels; gates: a pair (kernel, bias)."""
    size = scale.shape[0]
    result = np.zeros((*x.shape[:2], heads * size))
    for b, sequence in enumerate(x):
        decay = sigmoid(dense(gates, sequence))
        q, k, v = np.split(sequence @ qkv, 3, axis=-1)
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            state = np.zeros((size, size))
            for t in range(len(sequence)):
                query, key = unit(silu(q[t, own])), unit(silu(k[t, own]))
                alpha, beta = decay[t, head], decay[t, heads + head]
                erased = np.eye(size) - beta * np.outer(key, key)
                state = alpha * state @ erased + beta * np.outer(v[t, own], key)
                y = state @ query
                result[b, t, own] = y / np.sqrt((y**2).mean() + 1e-6) * scale
    return result @ out


def silu(x):
    return x * sigmoid(x)


def unit(x):
    return x / np.sqrt((x**2).sum() + 1e-6)
