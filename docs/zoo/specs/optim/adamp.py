import math

import jax.numpy as jnp

from mlax_scaffold.spec import (
    Decay,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    l2_norm,
    moment,
    sum,
    zeros,
)


def channel_view(x):
    return x.reshape(x.shape[0], -1)


def layer_view(x):
    return x.reshape(1, -1)


def cosine_similarity(x, y, eps):
    x_norm = l2_norm(x, axis=1) + eps
    y_norm = l2_norm(y, axis=1) + eps
    return jnp.abs(sum(x * y, axis=1)) / x_norm / y_norm


def projection(param, grad, perturb, delta, wd_ratio, eps):
    """Takes the radial part out of the update of weights that are scale-invariant."""
    wd = 1.0
    for view in (channel_view, layer_view):
        p = view(param)
        cosine = cosine_similarity(view(grad), p, eps)
        invariant = cosine.max() < delta / math.sqrt(p.shape[1])
        unit = p / (l2_norm(p, axis=1, keepdims=True) + eps)
        radial = unit * sum(unit * view(perturb), axis=1, keepdims=True)
        perturb = jnp.where(invariant, perturb - radial.reshape(param.shape), perturb)
        wd = jnp.where(invariant, wd_ratio, wd)
    return perturb, wd


class AdamP(Optimizer):
    """AdamW that does not let the norm of scale-invariant weights grow.

    Heo et al., 2021, AdamP: Slowing Down the Slowdown for Momentum Optimizers on
    Scale-invariant Weights, arXiv:2006.08217.
    """

    learning_rate: Scheduled  #: step size
    beta1: Decay = 0.9  #: decay of the first moment
    beta2: Decay = 0.999  #: decay of the second moment
    epsilon: Positive = 1e-8  #: added to the denominator
    weight_decay: NonNegative = 0.0  #: strength of the decay
    delta: Positive = 0.1  #: threshold of the cosine
    wd_ratio: NonNegative = 0.1  #: by how much the decay of scale-invariant weights is less
    nesterov: bool = False  #: whether the momentum is Nesterov's

    def setup(self, param):
        self.exp_avg = moment(zeros, param.shape)
        self.exp_avg_sq = moment(zeros, param.shape)

    def update(self, grad, param):
        self.exp_avg = self.beta1 * self.exp_avg + (1 - self.beta1) * grad
        self.exp_avg_sq = self.beta2 * self.exp_avg_sq + (1 - self.beta2) * grad * grad
        bias1 = 1 - self.beta1**self.step
        bias2 = 1 - self.beta2**self.step
        denom = jnp.sqrt(self.exp_avg_sq) / jnp.sqrt(bias2) + self.epsilon
        if self.nesterov:
            perturb = (self.beta1 * self.exp_avg + (1 - self.beta1) * grad) / denom
        else:
            perturb = self.exp_avg / denom
        wd = 1.0
        if param.ndim > 1:
            perturb, wd = projection(
                param, grad, perturb, self.delta, self.wd_ratio, self.epsilon
            )
        decay = self.learning_rate * self.weight_decay * wd * param
        return -self.learning_rate / bias1 * perturb - decay
