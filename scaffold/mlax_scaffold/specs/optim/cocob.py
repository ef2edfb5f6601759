import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Mask,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    constant,
    moment,
    zeros,
)


class Cocob(Optimizer):
    """Continuous coin betting: a step without a learning rate.

    L = max(L, |g|);  G = G + |g|;  R = max(R - g (w - w0), 0);  C = C - g;
    update = w0 - w + C / (L max(G + L, alpha L)) (L + R)

    Orabona & Tommasi, 2017, arXiv:1705.07795, algorithm 2. Weight decay is part of g.
    Deviation: epsilon is at least the smallest normal number of the dtype.
    """

    learning_rate: Scheduled = 1.0  #: factor of the gradients
    alpha: Positive = 100.0  #: limits the fraction that is bet
    epsilon: Positive = 1e-8  #: the first L
    weight_decay: NonNegative = 0.0  #: strength of the decay
    mask: Mask | None = None  #: the weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        kept = self.moment_dtype or param.dtype
        least = max(self.epsilon, float(jnp.finfo(kept).tiny))
        self.first = moment(param, dtype=self.moment_dtype)  #: the first weights.
        self.total = moment(zeros, param.shape, self.moment_dtype)
        self.scale = moment(constant(least), param.shape, self.moment_dtype)
        self.absolute = moment(zeros, param.shape, self.moment_dtype)
        self.reward = moment(zeros, param.shape, self.moment_dtype)

    def update(self, grad, param):
        if self.mask:
            grad = grad + self.weight_decay * param
        grad = self.learning_rate * grad
        self.scale = jnp.maximum(self.scale, lax.abs(grad))
        self.absolute = self.absolute + lax.abs(grad)
        moved = param - self.first
        self.reward = jnp.maximum(self.reward - grad * moved, 0.0)
        self.total = self.total - grad
        # The ratios are of the order of one where their squares would leave the range.
        most = jnp.maximum(self.absolute + self.scale, self.alpha * self.scale)
        bet = self.total / most * (1.0 + self.reward / self.scale)
        return bet - moved
