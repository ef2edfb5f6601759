"""Raffel et al., 2020, arXiv:1910.10683, section 2.1."""

import math

import numpy as np


def relative_position_bias(
    queries, keys, embedding, max_distance=128, bidirectional=True
):
    """queries, keys: positions; embedding: (buckets, heads). One pair after another."""
    buckets = embedding.shape[0]
    result = np.zeros((embedding.shape[1], len(queries), len(keys)))
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            count, first, back = buckets, 0, int(query) - int(key)
            if bidirectional:
                count //= 2
                first = count if back < 0 else 0
                back = abs(back)
            back = max(back, 0)
            exact = count // 2
            if back >= exact:
                far = math.log(back / exact) / math.log(max_distance / exact)
                back = min(exact + int(far * (count - exact)), count - 1)
            result[:, i, j] = embedding[first + back]
    return result
