import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    bias_correction,
    ema,
    moment,
    zeros,
)


class AdaMax(Optimizer):
    """Adam with the largest gradient, which decays, in the place of the root.

    m = b1 m + (1 - b1) g;  v = max(b2 v, |g| + epsilon);
    update = -learning_rate * (m / (1 - b1^t)) / v

    Kingma & Ba, 2015, arXiv:1412.6980, section 7. Deviation: `epsilon`, which is not in
    the paper, is at least the smallest normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the largest gradient
    epsilon: NonNegative = 1e-8  #: added to the size of gradients
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.largest = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)

    def update(self, grad, param):
        epsilon = max(self.epsilon, float(jnp.finfo(grad.dtype).tiny))
        self.mean = ema(self.mean, grad, self.dither, decay=self.b1)
        decayed = ema(self.largest, jnp.zeros_like(grad), self.dither, decay=self.b2)
        self.largest = jnp.maximum(decayed, lax.abs(grad) + epsilon)
        step = self.mean * self.unbias_mean / self.largest
        return -self.learning_rate * step
