"""Zaheer et al., 2017, arXiv:1703.06114, theorem 2."""

import numpy as np

from .common import dense


def deep_sets(x, phi, rho, pooling="sum", mask=None):
    """x: one set (elements, in); phi, rho: lists of affine maps; mask: which elements there are."""

    def mlp(layers, t):
        for layer in layers[:-1]:
            t = dense(layer, t)
            t = np.where(t > 0, t, np.expm1(np.minimum(t, 0)))
        return dense(layers[-1], t)

    if mask is not None:
        x = x[mask]
    return mlp(rho, getattr(mlp(phi, x), pooling)(axis=0))
