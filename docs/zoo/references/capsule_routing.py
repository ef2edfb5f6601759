"""Sabour, Frosst & Hinton, 2017, arXiv:1710.09829, procedure 1."""

import numpy as np

from .common import softmax


def capsule_routing(u, W, iterations=3, epsilon=1e-8):
    """u: (in capsules, in size); W: (in capsules, out capsules, in size, out size)."""
    inputs, outputs = W.shape[:2]
    predicted = np.array(
        [[u[i] @ W[i, j] for j in range(outputs)] for i in range(inputs)]
    )
    b = np.zeros((inputs, outputs))
    for _ in range(iterations):
        c = softmax(b, axis=1)
        s = (c[..., None] * predicted).sum(axis=0)
        square = (s**2).sum(-1, keepdims=True)
        v = square / (1 + square) * s / np.sqrt(square + epsilon)
        b = b + (predicted * v).sum(-1)
    return v
