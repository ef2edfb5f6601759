"""Singh & Krishnan, 2020, arXiv:1911.09737, equations 1 to 3."""

import numpy as np


def filter_response_norm(x, gamma, beta, tau, epsilon=1e-6, eps_l=0.0):
    """x: (batch, *spatial, features)."""
    nu2 = (x**2).reshape(x.shape[0], -1, x.shape[-1]).mean(1)
    nu2 = nu2.reshape(x.shape[0], *(1,) * (x.ndim - 2), x.shape[-1])
    return np.maximum(gamma * x / np.sqrt(nu2 + epsilon + np.abs(eps_l)) + beta, tau)
