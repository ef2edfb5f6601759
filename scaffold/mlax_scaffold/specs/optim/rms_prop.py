import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    bias_correction,
    constant,
    divide_by_root,
    ema,
    moment,
    running_sum,
    saturate,
    zeros,
)


class RMSProp(Optimizer):
    """Gradients divided by the root of a mean of their squares.

    v = decay v + (1 - decay) g^2;  u = learning_rate * g / sqrt(v + epsilon), or with
    `epsilon_in_root=False` / (sqrt(v) + epsilon);  m = momentum m + u;  update = -m, and
    with `nesterov` -(momentum m + u). `centered` takes the square of the mean off v.

    Tieleman & Hinton, 2012, Coursera lecture 6.5; Graves, 2013, arXiv:1308.0850
    (centered). Deviations: as in optax `epsilon` is under the root by default, in
    PyTorch it is not; `epsilon` is at least the smallest normal number of the dtype; a
    centered square that rounding made negative is zero.
    """

    learning_rate: Scheduled  #: step size
    decay: Decay = 0.9  #: decay of the mean square
    epsilon: NonNegative = 1e-8  #: added to the mean square, or to its root
    initial_value: NonNegative = 0.0  #: what the mean square begins with
    epsilon_in_root: bool = True  #: whether epsilon is added under the root
    centered: bool = False  #: whether the mean square is that about the mean
    momentum: Decay = 0.0  #: decay of the trace of steps; 0: none is kept
    nesterov: bool = False  #: whether the step looks ahead along the trace
    unbiased: bool = False  #: whether the means are unbiased as in Adam
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        shape, kept = param.shape, self.moment_dtype
        self.square = moment(constant(self.initial_value), shape, kept)
        self.mean = moment(zeros, shape, kept) if self.centered else None
        self.trace = moment(zeros, shape, kept) if self.momentum > 0.0 else None

    def prepare(self, grads, params):
        weight = bias_correction(self.step, decay=self.decay)
        self.unbias = 1.0 / weight if self.unbiased else 1.0

    def update(self, grad, param):
        self.square = ema(
            self.square, saturate(lax.square(grad)), self.dither, decay=self.decay
        )
        var = self.square * self.unbias
        if self.mean is not None:
            self.mean = ema(self.mean, grad, self.dither, decay=self.decay)
            var = jnp.maximum(var - lax.square(self.mean * self.unbias), 0.0)
        if self.epsilon_in_root:
            epsilon = max(self.epsilon, float(jnp.finfo(grad.dtype).tiny))
            scaled = grad * lax.rsqrt(var + epsilon)
        else:
            scaled = divide_by_root(grad, var, epsilon=self.epsilon)
        update = -self.learning_rate * saturate(scaled)
        if self.trace is not None:
            self.trace = saturate(
                running_sum(self.trace, update, self.dither, decay=self.momentum)
            )
            ahead = saturate(self.momentum * self.trace + update)
            update = ahead if self.nesterov else self.trace
        return update
