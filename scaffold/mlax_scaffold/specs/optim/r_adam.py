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
    rectification,
    saturate,
    zeros,
)


class RAdam(Optimizer):
    """Adam that does not adapt while the variance of its mean square is unbounded.

    update = -learning_rate * m / (1 - b1^t) while rho < threshold, and then
    -learning_rate * r times the step of Adam; rho and r, which depend on b2 and t, are
    those of `functional.rectification`. With `nesterov` the mean is that of NAdam.

    Liu et al., 2020, arXiv:1908.03265. Deviations: `epsilon` is at least the smallest
    normal number of the dtype; a threshold below 4, where r is not real, counts as 4.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean of their squares
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    threshold: NonNegative = 5.0  #: least rho with which steps adapt
    nesterov: bool = False  #: whether the mean looks one step ahead
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)
        self.unbias_next = 1.0 / bias_correction(self.step + 1.0, decay=self.b1)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b2)
        self.rectify = rectification(self.step, decay=self.b2, threshold=self.threshold)

    def update(self, grad, param):
        self.mean = ema(self.mean, grad, self.dither, decay=self.b1)
        self.square = ema(
            self.square, saturate(lax.square(grad)), self.dither, decay=self.b2
        )
        unbiased = saturate(self.mean * self.unbias_mean)
        if self.nesterov:
            ahead = saturate(self.mean * self.unbias_next)
            unbiased = ema(ahead, saturate(grad * self.unbias_mean), decay=self.b1)
        step = divide_by_root(
            unbiased,
            self.square * self.unbias_square,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        step = jnp.where(self.rectify > 0.0, self.rectify * step, unbiased)
        return -self.learning_rate * step
