"""Jaderberg et al., 2015, arXiv:1506.02025, equations 1 and 5. One pixel after another."""

import numpy as np

from .common import dense


def spatial_transformer(image, hidden, theta):
    """image: (height, width, channels); two affine maps."""
    height, width, _ = image.shape
    matrix = dense(theta, np.tanh(dense(hidden, image.reshape(-1)))).reshape(2, 3)
    result = np.zeros_like(image)
    for i, v in enumerate(np.linspace(-1, 1, height)):
        for j, u in enumerate(np.linspace(-1, 1, width)):
            xs, ys = matrix @ (u, v, 1)
            x, y = (xs + 1) * (width - 1) / 2, (ys + 1) * (height - 1) / 2
            across = np.maximum(0, 1 - np.abs(x - np.arange(width)))
            down = np.maximum(0, 1 - np.abs(y - np.arange(height)))
            result[i, j] = np.einsum("hwc,h,w->c", image, down, across)
    return result
