"""Keskar & Socher, 2017, arXiv:1712.07628, algorithm 1, where each weight switches by itself."""

import numpy as np


def swats(param, gradients, lr, beta1=0.9, beta2=0.999, epsilon=1e-9):
    """The weight after each of the gradients."""
    m = a = v = np.zeros_like(param)
    rate, switched = 0.0, False
    for t, g in enumerate(gradients, start=1):
        if switched:
            v = beta1 * v + g
            param = param - (1 - beta1) * rate * v
            yield param
            continue
        m = beta1 * m + (1 - beta1) * g
        a = beta2 * a + (1 - beta2) * g**2
        p = -lr * np.sqrt(1 - beta2**t) / (1 - beta1**t) * m / (np.sqrt(a) + epsilon)
        param = param + p
        dot = (p * g).sum()
        if dot != 0:
            gamma = (p * p).sum() / -dot
            rate = beta2 * rate + (1 - beta2) * gamma
            if t > 1 and abs(rate / (1 - beta2**t) - gamma) < epsilon:
                switched, rate = True, rate / (1 - beta2**t)
        else:
            rate = beta2 * rate
        yield param
