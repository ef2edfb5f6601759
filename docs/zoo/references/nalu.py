"""Trask et al., 2018, arXiv:1808.00508, figure 2."""

import numpy as np

from .common import sigmoid


def nalu(x, W_hat, M_hat, G, epsilon=1e-7):
    """x: (batch, in); weights: (in, out). The multiplication is a product of powers."""
    W = np.tanh(W_hat) * sigmoid(M_hat)
    m = np.prod((np.abs(x) + epsilon)[..., :, None] ** W, axis=-2)
    g = sigmoid(x @ G)
    return g * (x @ W) + (1 - g) * m
