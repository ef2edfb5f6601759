"""van den Oord et al., 2016, arXiv:1606.05328, figure 2."""

import numpy as np

from .common import conv2d, sigmoid


def gated_pixel_cnn(
    v, h, vertical_kernel, horizontal_kernel, link, out, bias, mask="B"
):
    """v, h: (batch, height, width, n).

    Kernels are (k, k, n, 2 n), (1, k, n, 2 n), (1, 1, 2 n, 2 n) and (1, 1, n, n).
    """
    k = vertical_kernel.shape[0]
    seen = k // 2 + (mask == "B")
    vertical_kernel, horizontal_kernel = (
        vertical_kernel.copy(),
        horizontal_kernel.copy(),
    )
    vertical_kernel[seen:] = 0
    horizontal_kernel[:, seen:] = 0

    def gate(x):
        n = x.shape[-1] // 2
        return np.tanh(x[..., :n]) * sigmoid(x[..., n:])

    below = conv2d(v, vertical_kernel)
    above = np.zeros_like(below)
    above[:, 1:] = below[:, :-1]
    side = conv2d(h, horizontal_kernel) + above @ link[0, 0]
    result = gate(side) @ out[0, 0]
    return gate(below + bias), result + h if mask == "B" else result
