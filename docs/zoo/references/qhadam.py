"""Ma & Yarats, 2019, arXiv:1810.06801, algorithm 2."""

import numpy as np


def qhadam(
    param, gradients, lr, beta1=0.995, beta2=0.999, nu1=0.7, nu2=1.0, epsilon=1e-8
):
    """The weight after each of the gradients."""
    m = v = np.zeros_like(param)
    for t, g in enumerate(gradients, start=1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        mh, vh = m / (1 - beta1**t), v / (1 - beta2**t)
        param = param - lr * ((1 - nu1) * g + nu1 * mh) / (
            np.sqrt((1 - nu2) * g**2 + nu2 * vh) + epsilon
        )
        yield param
