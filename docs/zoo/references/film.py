"""Perez et al., 2018, arXiv:1709.07871, with a scale that is predicted as a difference from one."""

from .common import dense


def film(x, z, gamma, beta):
    """x: (batch, height, width, features); z: (batch, conditioning); gamma, beta: affine maps."""
    scale, shift = 1 + dense(gamma, z), dense(beta, z)
    return x * scale[:, None, None] + shift[:, None, None]
