"""Huang, Wang & Dong, 2019, arXiv:1805.07557, algorithm 2 with the hyperharmonic series."""

import numpy as np


def nosadam(param, gradients, lr, beta1=0.9, gamma=0.1, epsilon=1e-8):
    """The weight after each of the gradients. v is the weighted mean of all squares, written out."""
    m, squares, weights = np.zeros_like(param), [], []
    for t, g in enumerate(gradients, start=1):
        m = beta1 * m + (1 - beta1) * g
        squares.append(g**2)
        weights.append(t**-gamma)
        v = sum(w * s for w, s in zip(weights, squares, strict=True)) / sum(weights)
        param = param - lr * m / (np.sqrt(v) + epsilon)
        yield param
