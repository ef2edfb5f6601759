"""Zhou et al., 2019, arXiv:1810.00143, algorithm 2, with the maximum over the weight."""

import numpy as np


def adashift(param, gradients, lr, keep=10, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """The weight after each of the gradients."""
    weights = beta1 ** np.arange(keep)
    weights /= weights.sum()
    v, seen = 0.0, []
    for t, g in enumerate(gradients, start=1):
        seen.append(g)
        if t > keep:
            v = beta2 * v + (1 - beta2) * (seen[t - keep - 1] ** 2).max()
            m = sum(w * seen[t - 1 - i] for i, w in enumerate(weights))
            param = param - lr * m / (np.sqrt(v / (1 - beta2 ** (t - keep))) + epsilon)
        yield param
