"""An et al., 2018, A PID Controller Approach for Stochastic Optimization of Deep Networks, equation 14."""

import numpy as np


def pid(param, gradients, lr, alpha=0.9, k_d=0.1):
    """The weight after each of the gradients. The derivative brakes: it is of the descent's direction."""
    v = d = old = np.zeros_like(param)
    for g in gradients:
        v = alpha * v - lr * g
        d = alpha * d + (1 - alpha) * (g - old)
        old = g
        param = param + v - k_d * d
        yield param
