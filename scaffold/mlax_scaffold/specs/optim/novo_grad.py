import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    divide_by_root,
    ema,
    moment,
    running_sum,
    saturate,
    sum,
    zeros,
)


class NovoGrad(Optimizer):
    """Momentum along gradients divided by the norm that they have in each array.

    v = b2 v + (1 - b2) norm(g)^2, and norm(g)^2 at the first step;
    m = b1 m + g / (sqrt(v + epsilon_root) + epsilon) + weight_decay * weight;
    update = -learning_rate * m

    Ginsburg et al., 2019, arXiv:1905.11286. Deviation: `epsilon` is at least the
    smallest normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the trace of steps
    b2: Decay = 0.25  #: decay of the mean square norm
    epsilon: NonNegative = 1e-6  #: added to the root of the mean square norm
    epsilon_root: NonNegative = 0.0  #: added to it, under the root
    weight_decay: NonNegative = 0.0  #: strength of the weight decay
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.trace = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, (), self.moment_dtype)

    def update(self, grad, param):
        new = saturate(sum(lax.square(grad)))
        mean = ema(self.square, new, self.dither, decay=self.b2)
        self.square = jnp.where(self.step == 1.0, new, mean)
        scaled = divide_by_root(
            grad,
            self.square,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        decayed = scaled + self.weight_decay * param
        self.trace = running_sum(self.trace, decayed, self.dither, decay=self.b1)
        return -self.learning_rate * self.trace
