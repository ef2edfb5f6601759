"""Xiong et al., 2021, arXiv:2102.03902, equations 13 and 14."""

import numpy as np

from .common import dense, softmax


def nystrom_attention(x, qkv, out, heads, landmarks, iterations=6):
    """x: (batch, length, f); qkv, out: affine maps, of which qkv has the order (3, heads, size)."""
    batch, length, features = x.shape
    size = features // heads
    q, k, v = (
        dense(qkv, x).reshape(batch, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
    )
    q = q / np.sqrt(size)
    q_l, k_l = (
        t.reshape(batch, heads, landmarks, length // landmarks, size).mean(3)
        for t in (q, k)
    )
    f = softmax(q @ k_l.swapaxes(-1, -2))
    a = softmax(q_l @ k_l.swapaxes(-1, -2))
    b = softmax(q_l @ k.swapaxes(-1, -2))
    eye = np.eye(landmarks)
    z = a.swapaxes(-1, -2) / (np.abs(a).sum(-1).max() * np.abs(a).sum(-2).max())
    for _ in range(iterations):
        az = a @ z
        z = z @ (13 * eye - az @ (15 * eye - az @ (7 * eye - az))) / 4
    return dense(out, (f @ z @ (b @ v)).transpose(0, 2, 1, 3).reshape(x.shape))
