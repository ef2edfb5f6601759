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


class AMSGrad(Optimizer):
    """Adam whose mean square, as it divides steps, never falls.

    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w = max(w, v / (1 - b2^t));
    update = -learning_rate * (m / (1 - b1^t)) / (sqrt(w) + epsilon)

    Reddi et al., 2018, arXiv:1904.09237. Deviations: as in optax moments are unbiased
    before the maximum, in the paper not at all; `epsilon` is at least
    the smallest normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean of their squares
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    bias_correction_mean: bool = True  #: whether the mean is unbiased
    bias_correction_square: bool = True  #: whether the mean square is unbiased
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)
        self.largest = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        first = bias_correction(self.step, decay=self.b1)
        second = bias_correction(self.step, decay=self.b2)
        self.unbias_mean = 1.0 / first if self.bias_correction_mean else 1.0
        self.unbias_square = 1.0 / second if self.bias_correction_square else 1.0

    def update(self, grad, param):
        self.mean = ema(self.mean, grad, self.dither, decay=self.b1)
        self.square = ema(
            self.square, saturate(lax.square(grad)), self.dither, decay=self.b2
        )
        unbiased = saturate(self.square * self.unbias_square)
        self.largest = jnp.maximum(self.largest, unbiased)
        step = divide_by_root(
            self.mean * self.unbias_mean,
            self.largest,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        return -self.learning_rate * step
