"""Vinyals, Fortunato & Jaitly, 2015, arXiv:1506.03134, equation 3."""

import numpy as np

from .common import logsumexp


def pointer_head(encoder, decoder, visited, W1, W2, v, clipping=None):
    """encoder: (batch, n, e); decoder: (batch, d); visited: (batch, n)."""
    u = np.stack(
        [
            np.tanh(encoder[:, j] @ W1 + decoder @ W2) @ v[:, 0]
            for j in range(encoder.shape[1])
        ],
        axis=1,
    )
    if clipping is not None:
        u = clipping * np.tanh(u)
    u = np.where(visited, -np.inf, u)
    return u - logsumexp(u, keepdims=True)
