"""Gomez et al., 2017, arXiv:1707.04585, equations 6 and 7."""

import numpy as np


def reversible(x, units):
    """x: (batch, features); units: pairs of functions (F, G)."""
    half = x.shape[-1] // 2
    x1, x2 = x[..., :half], x[..., half:]
    for f, g in units:
        y1 = x1 + f(x2)
        x1, x2 = y1, x2 + g(y1)
    return np.concatenate([x1, x2], axis=-1)


def inverse(y, units):
    """The input of an output."""
    half = y.shape[-1] // 2
    y1, y2 = y[..., :half], y[..., half:]
    for f, g in units[::-1]:
        x2 = y2 - g(y1)
        y1, y2 = y1 - f(x2), x2
    return np.concatenate([y1, y2], axis=-1)
