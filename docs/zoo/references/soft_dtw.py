"""Cuturi & Blondel, 2017, arXiv:1703.01541, algorithm 1."""

import numpy as np

from .common import logsumexp


def soft_dtw(x, y, gamma=1.0):
    """x: (n, d); y: (m, d)."""
    r = np.full((len(x) + 1, len(y) + 1), np.inf)
    r[0, 0] = 0.0
    for i, one in enumerate(x):
        for j, other in enumerate(y):
            before = np.array([r[i, j], r[i, j + 1], r[i + 1, j]])
            before = before[np.isfinite(before)]
            cost = ((one - other) ** 2).sum()
            r[i + 1, j + 1] = cost - gamma * logsumexp(-before / gamma)
    return r[-1, -1]
