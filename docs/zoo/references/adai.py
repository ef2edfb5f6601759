"""Xie et al., 2022, arXiv:2006.15815, algorithm 2."""

import numpy as np


def adai(params, gradients, lr, beta0=0.1, beta2=0.99, epsilon=1e-3):
    """params: a list of weights; gradients: lists of theirs. The weights after each."""
    m, v = ([np.zeros_like(p) for p in params] for _ in range(2))
    prod = [np.ones_like(p) for p in params]
    for t, gs in enumerate(gradients, start=1):
        v = [beta2 * a + (1 - beta2) * g**2 for a, g in zip(v, gs, strict=True)]
        hats = [a / (1 - beta2**t) for a in v]
        mean = np.concatenate([h.ravel() for h in hats]).mean()
        new = []
        for i, (p, g) in enumerate(zip(params, gs, strict=True)):
            mu = np.clip(1 - beta0 * hats[i] / mean, 0, 1 - epsilon)
            m[i] = mu * m[i] + (1 - mu) * g
            prod[i] = prod[i] * mu
            new.append(p - lr * m[i] / (1 - prod[i]))
        params = new
        yield params
