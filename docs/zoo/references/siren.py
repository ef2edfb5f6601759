"""Sitzmann et al., 2020, arXiv:2006.09661, section 3."""

import numpy as np

from .common import dense


def siren(coordinates, layers, last, first_omega=30.0, omega=30.0):
    """Affine maps: those of the layers, first to last, and the last one, which has no sine."""
    x = np.sin(first_omega * dense(layers[0], coordinates))
    for layer in layers[1:]:
        x = np.sin(omega * dense(layer, x))
    return dense(last, x)
