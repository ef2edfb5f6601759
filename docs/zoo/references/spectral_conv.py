"""Li et al., 2021, arXiv:2010.08895, with the whole spectrum of a real signal."""

import numpy as np


def spectral_conv(x, weights1, weights2):
    """x: (batch, channels, height, width).

    The weights are complex, (in, out, modes1, modes2): of rows from the start and the end.
    """
    height, width = x.shape[2:]
    modes1, modes2 = weights1.shape[2:]
    spectrum = np.fft.fft2(x)
    out = np.zeros((x.shape[0], weights1.shape[1], height, width // 2 + 1), complex)
    for i in range(modes1):
        for j in range(modes2):
            # Where both sets of rows meet, the second is what stays.
            out[:, :, i, j] = spectrum[:, :, i, j] @ weights1[:, :, i, j]
    for i in range(modes1):
        for j in range(modes2):
            row = height - modes1 + i
            out[:, :, row, j] = spectrum[:, :, row, j] @ weights2[:, :, i, j]
    return np.fft.irfft(np.fft.ifft(out, axis=2), n=width, axis=3)
