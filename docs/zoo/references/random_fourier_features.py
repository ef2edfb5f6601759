"""Rahimi & Recht, 2007, section 3."""

import numpy as np


def random_fourier_features(x, W, b):
    """x: (batch, in); W: (in, D); b: (D,)."""
    return np.sqrt(2 / len(b)) * np.cos(x @ W + b)
