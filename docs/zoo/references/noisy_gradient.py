"""Neelakantan et al., 2015, arXiv:1511.06807, equation 1, for noise that is given.

Steps are counted from 1.
"""

import numpy as np


def noisy_gradient(params, gradients, noise, lr, eta=0.3, gamma=0.55, max_norm=None):
    """The weights after each step.

    params: a list of weights; gradients, noise (of unit variance): such a list a step.
    """
    for t, (gs, ns) in enumerate(zip(gradients, noise, strict=True), start=1):
        norm = np.sqrt(sum((g**2).sum() for g in gs))
        clip = 1.0 if max_norm is None else min(1.0, max_norm / norm)
        sigma = np.sqrt(eta / t**gamma)
        params = [
            p - lr * (clip * g + sigma * n)
            for p, g, n in zip(params, gs, ns, strict=True)
        ]
        yield params
