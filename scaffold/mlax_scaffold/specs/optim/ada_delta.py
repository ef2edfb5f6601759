import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    Mask,
    NonNegative,
    Optimizer,
    Scheduled,
    ema,
    moment,
    saturate,
    zeros,
)


class AdaDelta(Optimizer):
    """Steps in the units of the weights: their mean square over that of gradients.

    v = decay v + (1 - decay) g^2;  u = sqrt(w + epsilon) / sqrt(v + epsilon) g;
    w = decay w + (1 - decay) u^2;  update = -learning_rate * u

    Zeiler, 2012, arXiv:1212.5701, without a learning rate. As in optax weight_decay *
    weight is added to the gradient. Deviation: `epsilon` is at least the smallest normal
    number of the dtype.
    """

    learning_rate: Scheduled = 1.0  #: factor of the steps
    decay: Decay = 0.9  #: decay of the mean squares
    epsilon: NonNegative = 1e-6  #: added to the mean squares
    weight_decay: Scheduled = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.square = moment(zeros, param.shape, self.moment_dtype)
        self.step_square = moment(zeros, param.shape, self.moment_dtype)

    def update(self, grad, param):
        epsilon = max(self.epsilon, float(jnp.finfo(grad.dtype).tiny))
        if self.mask:
            grad = saturate(grad + self.weight_decay * param)
        squared = saturate(lax.square(grad))
        self.square = ema(self.square, squared, self.dither, decay=self.decay)
        step = lax.sqrt(self.step_square + epsilon) * lax.rsqrt(self.square + epsilon)
        # Its square without its roots: what both need would be stored.
        squared = squared / (self.square + epsilon) * (self.step_square + epsilon)
        self.step_square = ema(
            self.step_square, saturate(squared), self.dither, decay=self.decay
        )
        return -saturate(self.learning_rate * step * grad)
