"""Kingma & Dhariwal, 2018, arXiv:1807.03039, section 3.1."""

import numpy as np


def act_norm(batches, epsilon=1e-6):
    """Results (y, log|det J|) of a sequence of batches; the first one sets the statistics.

    Each is (batch, height, width, channels).
    """
    first = np.asarray(batches[0], np.float64)
    loc, scale = first.mean((0, 1, 2)), 1 / (first.std((0, 1, 2)) + epsilon)
    logdet = first.shape[1] * first.shape[2] * np.log(np.abs(scale)).sum()
    return [((x - loc) * scale, logdet) for x in batches]
