"""Liu et al., 2020, arXiv:2004.02967, table 2 (S0)."""

import numpy as np

from .common import sigmoid


def evo_norm(x, gamma, beta, v, groups=8, epsilon=1e-5):
    """x: (n, h, w, c); v: None without an activation."""
    if v is None:
        return x * gamma + beta
    parts = [
        np.broadcast_to(
            np.sqrt(part.var((1, 2, 3), keepdims=True) + epsilon), part.shape
        )
        for part in np.split(x, groups, axis=-1)
    ]
    return x * sigmoid(v * x) / np.concatenate(parts, axis=-1) * gamma + beta
