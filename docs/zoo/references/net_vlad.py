"""Arandjelovic et al., 2016, arXiv:1511.07247, equation 4. One descriptor after another."""

import numpy as np

from .common import dense, softmax


def net_vlad(x, assign, centers):
    """x: one image (height, width, f); assign: an affine map (f, clusters); centers: (clusters, f)."""

    def normalize(v):
        return v / max(np.linalg.norm(v), 1e-12)

    v = np.zeros(centers.shape)
    for descriptor in x.reshape(-1, x.shape[-1]):
        unit = normalize(descriptor)
        v += softmax(dense(assign, unit))[:, None] * (unit - centers)
    return normalize(np.concatenate([normalize(row) for row in v]))
