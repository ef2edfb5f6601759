"""Dinh, Sohl-Dickstein & Bengio, 2017, arXiv:1605.08803, equations 7 and 8."""

import numpy as np

from .common import dense, relu


def affine_coupling(x, inner, outer, swap=False):
    """x: (batch, features). Returns y and log|det J|."""
    if swap:
        x = x[..., ::-1]
    kept = x.shape[-1] // 2
    s, t = np.split(dense(outer, relu(dense(inner, x[..., :kept]))), 2, axis=-1)
    s = np.tanh(s)
    y = np.concatenate([x[..., :kept], x[..., kept:] * np.exp(s) + t], axis=-1)
    return y[..., ::-1] if swap else y, s.sum(-1)
