import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    Mask,
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


class Adan(Optimizer):
    """Adam with Nesterov's momentum, by a mean of the changes of the gradient.

    d = g - previous g;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) d;
    n = b3 n + (1 - b3) (g + (1 - b2) d)^2, and each is unbiased as in Adam;
    update = -learning_rate * ((m + (1 - b2) v) / (sqrt(n + epsilon_root) + epsilon)
    + weight_decay * weight)

    Xie et al., 2022, arXiv:2208.06677. Deviations: as in optax the decays are one less
    the paper's, and weight decay is that of AdamW; `epsilon` is at least the smallest
    normal number of the dtype. At the first step d is zero.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.98  #: decay of the mean of the gradients
    b2: Decay = 0.92  #: decay of the mean of their changes
    b3: Decay = 0.99  #: decay of the mean square
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    epsilon_root: NonNegative = 1e-8  #: added to the mean square, under the root
    weight_decay: Scheduled = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.change = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)
        self.previous = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)
        self.unbias_change = 1.0 / bias_correction(self.step, decay=self.b2)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b3)

    def update(self, grad, param):
        difference = saturate(jnp.where(self.step == 1.0, 0.0, grad - self.previous))
        self.previous = grad
        self.mean = ema(self.mean, grad, self.dither, decay=self.b1)
        self.change = ema(self.change, difference, self.dither, decay=self.b2)
        ahead = saturate(lax.square(grad + (1.0 - self.b2) * difference))
        self.square = ema(self.square, ahead, self.dither, decay=self.b3)
        slope = (1.0 - self.b2) * self.change * self.unbias_change
        scaled = divide_by_root(
            self.mean * self.unbias_mean + slope,
            self.square * self.unbias_square,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        if self.mask:
            scaled = scaled + self.weight_decay * param
        return -self.learning_rate * scaled
