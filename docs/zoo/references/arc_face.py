"""Deng et al., 2019, arXiv:1801.07698, equation 3, by the angle itself."""

import math

import numpy as np


def arc_face(embeddings, labels, weight, margin=0.5, scale=64.0):
    """embeddings: (batch, f); labels: (batch,) or None; weight: (f, classes)."""
    unit = embeddings / np.linalg.norm(embeddings, axis=-1, keepdims=True)
    cosine = unit @ (weight / np.linalg.norm(weight, axis=0))
    result = cosine.copy()
    for n, label in enumerate([] if labels is None else labels):
        theta = math.acos(min(1.0, max(-1.0, cosine[n, label])))
        if theta + margin < math.pi:
            result[n, label] = math.cos(theta + margin)
        else:
            result[n, label] = cosine[n, label] - margin * math.sin(margin)
    return scale * result
