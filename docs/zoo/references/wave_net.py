"""van den Oord et al., 2016, arXiv:1609.03499, sections 2.3 and 2.4."""

import numpy as np

from .common import conv1d, dense, relu, sigmoid


def wave_net(x, inp, blocks, out1, out2, dilation_cycle):
    """x: (batch, time, in); affine maps; blocks: a dict for each.

    "filter" and "gate" are pairs of a kernel (k, in, out) and a bias, "residual" and
    "skip" affine maps.
    """
    x = dense(inp, x)
    total = 0
    for i, block in enumerate(blocks):
        dilation = 2 ** (i % dilation_cycle)
        f, g = (
            conv1d(x, block[n][0], dilation, causal=True) + block[n][1]
            for n in ("filter", "gate")
        )
        z = np.tanh(f) * sigmoid(g)
        total = total + dense(block["skip"], z)
        x = x + dense(block["residual"], z)
    return dense(out2, relu(dense(out1, relu(total))))
