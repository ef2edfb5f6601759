import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    bias_correction,
    divide_by_root,
    ema,
    moment,
    saturate,
    zeros,
)


class OptimisticAdam(Optimizer):
    """Adam that expects its step to change as it just did.

    r = the step of Adam, with `nesterov` that of NAdam;
    update = -learning_rate * (alpha r + beta (r - previous r))

    Daskalakis et al., 2018, arXiv:1711.00141. Deviations: as in optax the change has its
    own weight, at the first step it is zero, and `nesterov` is the default; `epsilon` is
    at least the smallest normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    alpha: Scheduled = 1.0  #: weight of the step of Adam
    beta: Scheduled = 1.0  #: weight of its change
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean of their squares
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    nesterov: bool = True  #: whether the mean looks one step ahead
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)
        self.previous = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)
        self.unbias_next = 1.0 / bias_correction(self.step + 1.0, decay=self.b1)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b2)

    def update(self, grad, param):
        self.mean = ema(self.mean, grad, self.dither, decay=self.b1)
        self.square = ema(
            self.square, saturate(lax.square(grad)), self.dither, decay=self.b2
        )
        unbiased = self.mean * self.unbias_mean
        if self.nesterov:
            ahead = self.mean * self.unbias_next
            unbiased = ema(ahead, grad * self.unbias_mean, decay=self.b1)
        scaled = divide_by_root(
            unbiased,
            self.square * self.unbias_square,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        change = jnp.where(self.step == 1.0, 0.0, scaled - self.previous)
        self.previous = scaled
        return -self.learning_rate * (self.alpha * scaled + self.beta * change)
