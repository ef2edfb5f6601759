"""Heo et al., 2021, arXiv:2006.08217, algorithm 2, for channels (first axis) and the whole layer."""

import math

import numpy as np


def adamp(
    param,
    gradients,
    lr,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    weight_decay=0.0,
    delta=0.1,
    wd_ratio=0.1,
    nesterov=False,
):
    """The weight after each of the gradients."""
    m = v = np.zeros_like(param)
    for t, g in enumerate(gradients, start=1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        top = beta1 * m + (1 - beta1) * g if nesterov else m
        p = top / (np.sqrt(v) / math.sqrt(1 - beta2**t) + epsilon)
        ratio = 1.0
        for shape in ((param.shape[0], -1), (1, -1)) if param.ndim > 1 else ():
            rows, gs, ps = param.reshape(shape), g.reshape(shape), p.reshape(shape)
            sizes = np.linalg.norm(rows, axis=1) + epsilon
            cosine = (
                np.abs((rows * gs).sum(1))
                / sizes
                / (np.linalg.norm(gs, axis=1) + epsilon)
            )
            if cosine.max() < delta / math.sqrt(rows.shape[1]):
                unit = rows / sizes[:, None]
                p = (ps - unit * (unit * ps).sum(1, keepdims=True)).reshape(param.shape)
                ratio = wd_ratio
        param = param - lr / (1 - beta1**t) * p - lr * weight_decay * ratio * param
        yield param
