"""Kingma & Dhariwal, 2018, arXiv:1807.03039, section 3.2."""

import numpy as np


def invertible_conv(x, P, L, U, sign_s, log_s):
    """x: (batch, height, width, c). The determinant is that of the whole kernel."""
    c = len(log_s)
    kernel = (
        P
        @ (np.tril(L, -1) + np.eye(c))
        @ (np.triu(U, 1) + np.diag(sign_s * np.exp(log_s)))
    )
    return np.einsum("oc,bhwc->bhwo", kernel, x), x.shape[1] * x.shape[
        2
    ] * np.linalg.slogdet(kernel)[1]
