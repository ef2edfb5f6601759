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
    ema,
    moment,
    zeros,
)


class AdaMaxW(Optimizer):
    """AdaMax with decoupled weight decay.

    update = -learning_rate * (the step of AdaMax + weight_decay * weight)

    Kingma & Ba, 2015, arXiv:1412.6980, section 7; Loshchilov & Hutter, 2019,
    arXiv:1711.05101. Deviations: as in optax the decay is multiplied by the learning
    rate; `epsilon`, which is not in the papers, is at least the smallest normal number
    of the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the largest gradient
    epsilon: NonNegative = 1e-8  #: added to the size of gradients
    weight_decay: Scheduled = 1e-4  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
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
        if self.mask:
            step = step + self.weight_decay * param
        return -self.learning_rate * step
