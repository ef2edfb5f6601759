"""Woo et al., 2018, arXiv:1807.06521, equations 2 and 3."""

import numpy as np

from .common import conv2d, dense, relu, sigmoid


def cbam(x, squeeze, excite, spatial):
    """x: (batch, height, width, features); two affine maps; the spatial kernel (k, k, 2, 1)."""
    pooled = x.mean(axis=(1, 2)), x.max(axis=(1, 2))
    channel = sigmoid(sum(dense(excite, relu(dense(squeeze, p))) for p in pooled))
    x = x * channel[:, None, None]
    maps = np.stack([x.mean(-1), x.max(-1)], axis=-1)
    return x * sigmoid(conv2d(maps, spatial))
