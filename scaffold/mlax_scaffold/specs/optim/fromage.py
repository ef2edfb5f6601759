import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    scale_by_trust_ratio,
)


class Fromage(Optimizer):
    """Gradient descent in which steps are as long as weights, and weights do not grow.

    c = 1 / sqrt(1 + learning_rate^2);
    update = -c learning_rate * g * norm(weight) / norm(g) + (c - 1) weight

    Bernstein et al., 2020, arXiv:2002.03432. Deviations: as in optax norms are at least
    `min_norm`, and that is at least the smallest normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    min_norm: NonNegative = 1e-6  #: smaller norms count as this one
    accum_dtype: DType | None = None  #: dtype of the norms; None: that of the weight

    def prepare(self, grads, params):
        scale = lax.rsqrt(1.0 + lax.square(self.learning_rate))
        self.rate = scale * self.learning_rate
        # scale - 1, without the loss of digits where the learning rate is small.
        self.shrink = -lax.square(self.rate) / (1.0 + scale)

    def update(self, grad, param):
        min_norm = max(self.min_norm, float(jnp.finfo(grad.dtype).tiny))
        step = scale_by_trust_ratio(
            grad, param, min_norm=min_norm, accum_dtype=self.accum_dtype
        )
        return self.shrink * param - self.rate * step
