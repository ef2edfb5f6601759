"""Lee-Thorp et al., 2022, arXiv:2105.03824, equation 3, by matrices."""

import numpy as np


def fnet_mixing(x):
    """x: (batch, length, features)."""

    def dft(n):
        return np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)

    return (dft(x.shape[-2]) @ x @ dft(x.shape[-1])).real
