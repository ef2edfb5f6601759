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
    running_sum,
    saturate,
    zeros,
)


class Cocob(Optimizer):
    """Training by coin betting, without a step size.

    With c = learning_rate * (g + weight_decay * weight) and d = weight - first weight:
    L = max(L, |c|);  G = G + |c|;  R = max(R - c d, 0);  C = C - c;
    weight = first weight + C (L + R) / (L max(G + L, alpha L))

    Orabona & Tommasi, 2017, arXiv:1705.07795. Deviation: `epsilon` is at least the
    smallest normal number of the dtype.
    """

    learning_rate: Scheduled = 1.0  #: factor of the gradients
    alpha: Positive = 100.0  #: bounds the first bets: larger is more careful
    epsilon: NonNegative = 1e-8  #: what the largest gradient L begins with
    weight_decay: NonNegative = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        shape, kept = param.shape, self.moment_dtype
        smallest = max(self.epsilon, float(jnp.finfo(kept or param.dtype).tiny))
        self.first = moment(param, dtype=kept)
        self.largest = moment(constant(smallest), shape, kept)
        self.total = moment(zeros, shape, kept)
        self.reward = moment(zeros, shape, kept)
        self.trace = moment(zeros, shape, kept)

    def update(self, grad, param):
        if self.mask:
            grad = saturate(grad + self.weight_decay * param)
        grad = saturate(self.learning_rate * grad)
        won = -grad * (param - self.first)
        wealth = saturate(running_sum(self.reward, won, self.dither))
        self.largest = lax.max(self.largest, lax.abs(grad))
        self.total = saturate(running_sum(self.total, lax.abs(grad), self.dither))
        self.reward = jnp.maximum(wealth, 0.0)
        self.trace = saturate(running_sum(self.trace, -grad, self.dither))
        bound = lax.max(self.total + self.largest, self.alpha * self.largest)
        bound = saturate(bound)
        share = self.largest / bound + self.reward / bound
        bet = saturate(self.trace / self.largest * share)
        return self.first - param + bet
