"""Graves, 2016, arXiv:1603.08983, equations 6 to 14. One element after another."""

import numpy as np

from .common import dense, sigmoid


def adaptive_computation_time(states, layer, halt, max_steps=8, epsilon=0.01):
    """states: (n, features); layer: a function of one state; halt: an affine map to one number."""
    outputs, costs = [], []
    for state in states:
        x, y, total = state, np.zeros_like(state), 0.0
        for n in range(1, max_steps + 1):
            x = layer(x)
            p = sigmoid(dense(halt, x))[0]
            if total + p >= 1 - epsilon or n == max_steps:
                y = y + (1 - total) * x
                costs.append(n + 1 - total)
                break
            y, total = y + p * x, total + p
        outputs.append(y)
    return np.stack(outputs), np.array(costs)
