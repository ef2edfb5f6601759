import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    constant,
    moment,
    running_sum,
    saturate,
)


class AdaGrad(Optimizer):
    """Gradients divided by the root of the sum of their squares so far.

    v = v + g^2;  update = -learning_rate * g / sqrt(v + epsilon)

    Duchi et al., 2011, JMLR 12:2121. Deviations: as in optax the sum begins with
    `initial_value`; `epsilon` is at least the smallest normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    initial_value: NonNegative = 0.1  #: what the sum of squares begins with
    epsilon: NonNegative = 1e-7  #: added to the sum, under the root
    moment_dtype: DType | None = None  #: dtype of the sum; None: that of the weight

    def setup(self, param):
        self.square = moment(
            constant(self.initial_value), param.shape, self.moment_dtype
        )

    def update(self, grad, param):
        epsilon = max(self.epsilon, float(jnp.finfo(grad.dtype).tiny))
        total = running_sum(self.square, lax.square(grad), self.dither)
        self.square = saturate(total)
        return -self.learning_rate * grad * lax.rsqrt(self.square + epsilon)
