"""Bishop, 1994, Mixture Density Networks, equations 22 to 29."""

import math

import numpy as np

from .common import dense, logsumexp, softmax


def mixture_density(x, pi, mu, sigma, out_features):
    """Three affine maps. Returns log pi, mu, sigma."""
    means = dense(mu, x).reshape(*x.shape[:-1], -1, out_features)
    return np.log(softmax(dense(pi, x))), means, np.exp(dense(sigma, x))


def log_prob(x, target, pi, mu, sigma):
    """Log density of the target."""
    size = target.shape[-1]
    log_pi, means, deviations = mixture_density(x, pi, mu, sigma, size)
    parts = [
        log_pi[..., k]
        - ((target - means[..., k, :]) ** 2).sum(-1) / (2 * deviations[..., k] ** 2)
        - size * (np.log(deviations[..., k]) + math.log(2 * math.pi) / 2)
        for k in range(log_pi.shape[-1])
    ]
    return logsumexp(np.stack(parts, axis=-1))
