"""Ravanelli & Bengio, 2018, arXiv:1808.00158, equations 4 to 8."""

import numpy as np

from .common import conv1d


def sinc_conv(wave, low_hz, band_hz, size, rate=16000.0, min_low=50.0, min_band=50.0):
    """wave: (batch, time)."""
    t = (np.arange(size) - size // 2) / rate
    filters = []
    for below, band in zip(np.abs(low_hz), np.abs(band_hz), strict=True):
        low = min_low + below
        high = min(max(low + min_band + band, min_low), rate / 2)
        g = 2 * high * np.sinc(2 * high * t) - 2 * low * np.sinc(2 * low * t)
        filters.append(g * np.hamming(size) / (2 * (high - low)))
    return conv1d(wave[..., None], np.stack(filters, axis=-1)[:, None])
