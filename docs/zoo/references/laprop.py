"""Ziyin, Wang & Ueda, 2020, arXiv:2002.04839, algorithm 1."""

import numpy as np


def laprop(param, gradients, lr, mu=0.9, nu=0.999, epsilon=1e-15, weight_decay=0.0):
    """The weight after each of the gradients."""
    n = m = np.zeros_like(param)
    for t, g in enumerate(gradients, start=1):
        n = nu * n + (1 - nu) * g**2
        m = mu * m + (1 - mu) * g / (np.sqrt(n / (1 - nu**t)) + epsilon)
        param = param - lr * m / (1 - mu**t) - lr * weight_decay * param
        yield param
