"""Ramsauer et al., 2021, arXiv:2008.02217, equation 3. One state after another."""

import numpy as np

from .common import softmax


def hopfield(states, Y, beta=1.0, max_steps=5, tolerance=1e-4):
    """states: (n, features); Y: (patterns, features)."""
    result = []
    for state in states:
        xi = state
        for _ in range(max_steps):
            old, xi = xi, softmax(beta * Y @ xi) @ Y
            if np.linalg.norm(xi - old) <= tolerance:
                break
        result.append(xi)
    return np.stack(result)
