"""Lee et al., 2019, arXiv:1810.00825, equations 6, 7 and 9."""

import numpy as np

from .common import dense, layer_norm, relu, softmax


def mab(x, y, weights, heads):
    """x: (n, f); y: (m, f); weights: q, k, v, o (affine maps), norm0, norm1."""
    q, k, v = dense(weights["q"], x), dense(weights["k"], y), dense(weights["v"], y)
    o = np.concatenate(
        [
            a + softmax(a @ b.T / np.sqrt(x.shape[-1])) @ c
            for a, b, c in zip(
                *(np.split(t, heads, axis=-1) for t in (q, k, v)), strict=True
            )
        ],
        axis=-1,
    )
    h = layer_norm(weights["norm0"], o)
    return layer_norm(weights["norm1"], h + relu(dense(weights["o"], h)))


def isab(x, inducing, mab0, mab1, heads):
    """x: one set (n, f)."""
    return mab(x, mab(inducing, x, mab0, heads), mab1, heads)
