"""Ha, Dai & Le, 2017, arXiv:1609.09106, equation 2."""

import numpy as np


def hyper_linear(x, z, W, B, W_out, B_out):
    """z: (embedding,); W: (in, hidden, embedding); B: (in, hidden); W_out: (out, hidden); B_out: (out,)."""
    kernel = np.stack(
        [W_out @ (W_i @ z + B_i) + B_out for W_i, B_i in zip(W, B, strict=True)]
    )
    return x @ kernel
