"""Gupta et al., 2018, arXiv:1802.09568, algorithm 2, with roots that are computed every few steps."""

import numpy as np


def shampoo(
    param, gradients, lr, momentum=0.9, weight_decay=0.0, epsilon=1e-4, update_freq=2
):
    """The weight after each of the gradients."""
    order = param.ndim
    sums = [epsilon * np.eye(size) for size in param.shape]
    roots = [np.eye(size) for size in param.shape]
    trace = np.zeros_like(param)
    for number, gradient in enumerate(gradients):
        g = gradient + weight_decay * param
        step = g
        for axis, size in enumerate(param.shape):
            others = tuple(i for i in range(order) if i != axis)
            sums[axis] = sums[axis] + np.tensordot(g, g, (others, others))
            if number % update_freq == 0:
                values, vectors = np.linalg.eigh(sums[axis] + epsilon * np.eye(size))
                values = np.maximum(values, epsilon) ** (-1 / (2 * order))
                roots[axis] = vectors @ np.diag(values) @ vectors.T
            step = np.moveaxis(np.tensordot(roots[axis], step, (1, axis)), 0, axis)
        trace = momentum * trace + step
        param = param - lr * trace
        yield param
