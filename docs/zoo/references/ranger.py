"""Liu et al., 2020, arXiv:1908.03265, within Zhang et al., 2019, arXiv:1907.08610."""

import math

import numpy as np


def ranger(
    param,
    gradients,
    lr,
    k=6,
    alpha=0.5,
    beta1=0.95,
    beta2=0.999,
    epsilon=1e-8,
    threshold=5.0,
):
    """The weight after each of the gradients."""
    m = v = np.zeros_like(param)
    slow, limit = param, 2 / (1 - beta2) - 1
    for t, g in enumerate(gradients, start=1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        mh = m / (1 - beta1**t)
        rho = limit - 2 * t * beta2**t / (1 - beta2**t)
        if rho >= threshold:
            r = math.sqrt(
                (rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho)
            )
            param = param - lr * r * mh / (np.sqrt(v / (1 - beta2**t)) + epsilon)
        else:
            param = param - lr * mh
        if t % k == 0:
            slow = slow + alpha * (param - slow)
            param = slow
        yield param
