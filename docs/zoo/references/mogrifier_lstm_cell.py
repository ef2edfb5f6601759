"""Melis, Kočiský & Blunsom, 2020, arXiv:1909.01792, equations 1 and 2."""

from .common import dense, sigmoid


def mogrifier_lstm_cell(x, h, gates, lstm):
    """x, h: input and state; gates: affine maps, one a round; lstm(x, h): what follows."""
    for i, gate in enumerate(gates, start=1):
        if i % 2:
            x = 2 * sigmoid(dense(gate, h)) * x
        else:
            h = 2 * sigmoid(dense(gate, x)) * h
    return lstm(x, h)
