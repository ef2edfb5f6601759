"""Ho et al., 2019, arXiv:1912.12180. Sum of attentions along the axes between batch and channels."""

import numpy as np

from .common import attention, dense


def axial_attention(x, layers, heads):
    """x: (batch, *axes, f); layers: for each axis the affine maps of query, key, value, out."""
    size = x.shape[-1] // heads
    result = np.zeros_like(x)
    for axis, (query, key, value, out) in enumerate(layers, start=1):
        moved = np.moveaxis(x, axis, -2)
        flat = moved.reshape(-1, *moved.shape[-2:])
        q, k, v = (
            dense(w, flat).reshape(*flat.shape[:2], heads, size)
            for w in (query, key, value)
        )
        y = dense(out, attention(q, k, v, size**-0.5).reshape(flat.shape))
        result += np.moveaxis(y.reshape(moved.shape), -2, axis)
    return result
