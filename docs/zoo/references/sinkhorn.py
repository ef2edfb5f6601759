"""Cuturi, 2013, arXiv:1306.0895, algorithm 1, not in the log domain."""

import numpy as np


def sinkhorn(cost, a=None, b=None, epsilon=0.1, iterations=50):
    """cost: (n, m); a: (n,); b: (m,). Returns the plan and its cost."""
    n, m = cost.shape
    a = np.full(n, 1 / n) if a is None else a
    b = np.full(m, 1 / m) if b is None else b
    K = np.exp(-cost / epsilon)
    u, v = np.ones(n), np.ones(m)
    for _ in range(iterations):
        u = a / (K @ v)
        v = b / (K.T @ u)
    plan = u[:, None] * K * v
    return plan, (plan * cost).sum()
