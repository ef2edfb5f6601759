"""Choromanski et al., 2021, arXiv:2009.14794, equation 5 and lemma 1."""

import numpy as np


def performer_attention(x, query, key, value, out, omega, epsilon=1e-4):
    """x: (batch, length, f); query, key, value: (f, heads, d); out: (heads, d, f); omega: (m, d)."""
    m, d = omega.shape

    def phi(t, axis):
        t = t / d**0.25
        projection = t @ omega.T
        top = projection.max(axis=axis, keepdims=True)
        half = (t**2).sum(-1, keepdims=True) / 2
        return (np.exp(projection - half - top) + epsilon) / np.sqrt(m)

    q = phi(np.einsum("blf,fhd->bhld", x, query), -1)
    k = phi(np.einsum("blf,fhd->bhld", x, key), (2, 3))
    # Keys share a stabilizer over places and features, so that it cancels.
    weights = q @ k.swapaxes(-1, -2)
    weights /= weights.sum(-1, keepdims=True)
    y = weights @ np.einsum("blf,fhd->bhld", x, value)
    return np.einsum("bhld,hdf->blf", y, out)
