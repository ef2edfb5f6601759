"""Ghiasi, Lin & Le, 2018, arXiv:1810.12890, algorithm 1, for seeds that are given."""

import numpy as np


def drop_block(x, seeds, block_size):
    """x: (batch, height, width, c); seeds: the upper left corners that are dropped from.

    They are bools, (batch, height - b + 1, width - b + 1, c).
    """
    mask = np.ones_like(x)
    for n, i, j, c in np.argwhere(seeds):
        mask[n, i : i + block_size, j : j + block_size, c] = 0
    return x * mask * mask.size / mask.sum()


def gamma(keep_prob, block_size, height, width):
    """Probability of a seed, equation 1."""
    places = (height - block_size + 1) * (width - block_size + 1)
    return (1 - keep_prob) / block_size**2 * height * width / places
