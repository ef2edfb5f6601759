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


class AcProp(Optimizer):
    """Gradients divided by the root of the centered mean square of the step before.

    update = -learning_rate * (g / (sqrt(s / (1 - b2^(t-1))) + epsilon)
    + weight_decay * weight), with 1 in the place of the root at the first step;
    s = b2 s + (1 - b2) (g - m)^2 + epsilon_root;  m = b1 m + (1 - b1) g

    Zhuang et al., 2021, arXiv:2110.05454. Deviations: as in optax the square is that of
    the distance from the previous mean; `epsilon` is at least the smallest normal number
    of the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean square
    epsilon: NonNegative = 1e-16  #: added to the root of the mean square
    epsilon_root: NonNegative = 1e-16  #: added to the mean square at every step
    weight_decay: Scheduled = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        before = jnp.maximum(self.step - 1.0, 1.0)
        self.unbias_square = 1.0 / bias_correction(before, decay=self.b2)

    def update(self, grad, param):
        var = jnp.where(self.step == 1.0, 1.0, self.square * self.unbias_square)
        # After gradients of zero the root is epsilon.
        scaled = saturate(divide_by_root(grad, var, epsilon=self.epsilon))
        error = saturate(lax.square(grad - self.mean))
        average = ema(self.square, error, self.dither, decay=self.b2)
        self.square = average + self.epsilon_root
        self.mean = ema(self.mean, grad, self.dither, decay=self.b1)
        if self.mask:
            scaled = scaled + self.weight_decay * param
        return -self.learning_rate * scaled
