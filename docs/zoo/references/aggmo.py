"""Lucas et al., 2019, arXiv:1804.00325, equation 2."""

import numpy as np


def aggmo(param, gradients, lr, betas=(0.0, 0.9, 0.99)):
    """The weight after each of the gradients."""
    velocities = np.zeros((len(betas), *param.shape))
    for g in gradients:
        for i, beta in enumerate(betas):
            velocities[i] = beta * velocities[i] - g
        param = param + lr * velocities.mean(0)
        yield param
