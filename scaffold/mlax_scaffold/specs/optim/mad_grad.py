import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    moment,
    running_sum,
    saturate,
    zeros,
)


class MadGrad(Optimizer):
    """Dual averaging from the first weights, divided by the cube root of squares.

    k = (learning_rate + epsilon) sqrt(t);  s = s + k g;  v = v + k g^2;
    z = first weight - s / (cbrt(v) + epsilon);  update = (1 - momentum) (z - weight)

    Defazio & Jelassi, 2022, arXiv:2101.11075. As in optax weight_decay * weight is added
    to the gradient. Deviation: `epsilon` where it divides is at least the smallest normal
    number of the dtype, and the root of t has the default float dtype, where optax has
    32 bits in float64, too.
    """

    learning_rate: Scheduled  #: step size
    momentum: Decay = 0.9  #: share of the weight that stays
    weight_decay: NonNegative = 0.0  #: strength of the weight decay
    epsilon: NonNegative = 1e-6  #: added to the cube root, and to the step size
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.first = moment(param, dtype=self.moment_dtype)
        self.trace = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        self.rate = (self.learning_rate + self.epsilon) * lax.sqrt(self.step)

    def update(self, grad, param):
        epsilon = max(self.epsilon, float(jnp.finfo(grad.dtype).tiny))
        grad = saturate(grad + self.weight_decay * param)
        self.trace = saturate(running_sum(self.trace, self.rate * grad, self.dither))
        increment = self.rate * saturate(lax.square(grad))
        self.square = saturate(running_sum(self.square, increment, self.dither))
        point = self.first - self.trace / (lax.cbrt(self.square) + epsilon)
        return (1.0 - self.momentum) * (point - param)
