import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    NonNegative,
    Optimizer,
    Positive,
    constant,
    moment,
    running_sum,
    zeros,
)


class RProp(Optimizer):
    """Steps along the sign of the gradient, longer while it stays the same.

    s = sign(g) * sign(previous g);  size = size * (eta_plus if s > 0, eta_minus if
    s < 0), within [min_step_size, max_step_size];
    update = -size * sign(g), or 0 where s < 0: there the previous g becomes 0 as well.

    Riedmiller & Braun, 1993, doi:10.1109/ICNN.1993.298623; Igel & Huesken, 2003, doi:
    10.1016/S0925-2312(01)00700-7 (iRprop-). Deviation: optax takes each step one
    iteration late.
    """

    learning_rate: Positive  #: the first step size
    eta_minus: Positive = 0.5  #: factor of the step size where the sign changes
    eta_plus: Positive = 1.2  #: factor where it stays
    min_step_size: NonNegative = 1e-6  #: smallest step size
    max_step_size: Positive = 50.0  #: largest step size
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.size = moment(constant(self.learning_rate), param.shape, self.moment_dtype)
        self.sign = moment(zeros, param.shape, self.moment_dtype)

    def update(self, grad, param):
        agreement = lax.sign(grad) * self.sign
        if grad.dtype.itemsize > 2:
            longer, shorter = self.eta_plus * self.size, self.eta_minus * self.size
        else:
            # Factors near one are one in 16 bits.
            more = (self.eta_plus - 1.0) * self.size
            less = (self.eta_minus - 1.0) * self.size
            longer = running_sum(self.size, more, self.dither)
            shorter = running_sum(self.size, less, self.dither)
        changed = jnp.where(agreement > 0.0, longer, shorter)
        changed = jnp.clip(changed, self.min_step_size, self.max_step_size)
        self.size = jnp.where(agreement == 0.0, self.size, changed)
        self.sign = jnp.where(agreement < 0.0, 0.0, lax.sign(grad))
        return -self.size * self.sign
