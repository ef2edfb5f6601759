"""Vinyals et al., 2015, arXiv:1511.06391, equations 3 to 7. One set after another."""

import numpy as np

from .common import sigmoid, softmax


def set2set(sets, lstm, steps=3, mask=None):
    """sets: (batch, n, features); lstm: kernel, recurrent kernel and bias of i, f, g, o."""
    result = []
    for number, elements in enumerate(sets):
        kept = elements if mask is None else elements[mask[number]]
        size = elements.shape[-1]
        q_star, c, q = np.zeros(2 * size), np.zeros(size), np.zeros(size)
        for _ in range(steps):
            i, f, g, o = np.split(q_star @ lstm[0] + q @ lstm[1] + lstm[2], 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            q = sigmoid(o) * np.tanh(c)
            read = softmax(kept @ q) @ kept
            q_star = np.concatenate([q, read])
        result.append(q_star)
    return np.stack(result)
