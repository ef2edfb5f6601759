"""Jang, Gu & Poole, 2017, arXiv:1611.01144, equation 2, for uniform numbers that are given."""

import numpy as np

from .common import softmax


def gumbel_softmax(logits, uniform, temperature=1.0, hard=False):
    """uniform: numbers in (0, 1), of the shape of the logits."""
    soft = softmax((logits - np.log(-np.log(uniform))) / temperature)
    return np.eye(logits.shape[-1])[soft.argmax(-1)] if hard else soft
