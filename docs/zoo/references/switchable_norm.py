"""Luo et al., 2019, arXiv:1806.10779, equation 3, with statistics that are computed directly."""

import numpy as np

from .common import softmax


def switchable_norm(
    x, scale, bias, mean_logits, var_logits, epsilon=1e-5, running=None
):
    """x: (batch, height, width, c); running: (mean, var) at inference, None in training."""
    axes = ((1, 2), (1, 2, 3), (0, 1, 2))
    means = [x.mean(a, keepdims=True) for a in axes]
    variances = [x.var(a, keepdims=True) for a in axes]
    if running is not None:
        means[2], variances[2] = running
    mean = sum(w * m for w, m in zip(softmax(mean_logits), means, strict=True))
    variance = sum(w * v for w, v in zip(softmax(var_logits), variances, strict=True))
    return (x - mean) / np.sqrt(variance + epsilon) * scale + bias
