"""Broomhead & Lowe, 1988."""

import numpy as np

RADIAL = {
    "gaussian": lambda r: np.exp(-(r**2)),
    "multiquadric": lambda r: np.sqrt(1 + r**2),
    "inverse_multiquadric": lambda r: 1 / np.sqrt(1 + r**2),
}


def rbf(x, c, log_sigma, w, kernel="gaussian"):
    """x: (batch, in); c: (centers, in); log_sigma: (centers,); w: (centers, out)."""
    r = np.stack([np.linalg.norm(x - center, axis=-1) for center in c], axis=-1)
    return RADIAL[kernel](r / np.exp(log_sigma)) @ w
