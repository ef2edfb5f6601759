"""Martins & Astudillo, 2016, arXiv:1602.02068, by bisection for the threshold."""

import numpy as np


def sparsemax(logits):
    """Along the last axis."""
    low = logits.min(-1, keepdims=True) - 1.0
    high = logits.max(-1, keepdims=True)
    for _ in range(200):
        tau = (low + high) / 2
        above = np.maximum(logits - tau, 0).sum(-1, keepdims=True) > 1
        low, high = np.where(above, tau, low), np.where(above, high, tau)
    return np.maximum(logits - (low + high) / 2, 0)
