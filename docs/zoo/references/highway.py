"""Srivastava, Greff & Schmidhuber, 2015, arXiv:1505.00387, equation 3."""

from .common import dense, relu, sigmoid


def highway(x, layers):
    """layers: pairs (transform, plain) of affine maps."""
    for transform, plain in layers:
        t = sigmoid(dense(transform, x))
        x = t * relu(dense(plain, x)) + (1 - t) * x
    return x
