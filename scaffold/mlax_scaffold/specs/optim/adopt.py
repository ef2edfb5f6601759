import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    ema,
    moment,
    running_sum,
    saturate,
    zeros,
)


class ADOPT(Optimizer):
    """Adam that converges with any b2: gradients are divided by the root before.

    c = clip(g / max(sqrt(v), epsilon), +-(t - 1)^clipping_exponent), or +-bound;
    m = b1 m + (1 - b1) c;  v = b2 v + (1 - b2) g^2;  update = -learning_rate * m;
    at the first step v = g^2 and m = 0. With `nesterov` b1 m + (1 - b1) c is the mean.

    Taniguchi et al., 2024, arXiv:2411.02853. Deviation: `epsilon` is at least the
    smallest normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.9999  #: decay of the mean of their squares
    epsilon: NonNegative = 1e-6  #: least root of the mean square that divides
    clipping_exponent: NonNegative | None = 0.25  #: growth of the bound; None: no bound
    nesterov: bool = False  #: whether the mean looks one step ahead
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight
    bound: Scheduled | None = None  #: the bound itself, as a schedule or a number

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        # The first step only fills the mean square.
        self.mean_rate = jnp.where(self.step == 1.0, 0.0, 1.0 - self.b1)
        self.largest = (self.step - 1.0) ** (self.clipping_exponent or 0.0)
        if self.bound is not None:
            self.largest = self.bound

    def update(self, grad, param):
        epsilon = max(self.epsilon, float(jnp.finfo(grad.dtype).tiny))
        root = jnp.maximum(lax.sqrt(self.square), epsilon)
        scaled = grad / jnp.where(self.step == 1.0, 1.0, root)
        if self.bound is not None or self.clipping_exponent is not None:
            scaled = jnp.clip(scaled, -self.largest, self.largest)
        change = self.mean_rate * (scaled - self.mean)
        self.mean = running_sum(self.mean, change, self.dither)
        squared = saturate(lax.square(grad))
        average = ema(self.square, squared, self.dither, decay=self.b2)
        self.square = jnp.where(self.step == 1.0, squared, average)
        ahead = self.mean
        if self.nesterov:
            ahead = ahead + self.mean_rate * (scaled - ahead)
        return -self.learning_rate * ahead
