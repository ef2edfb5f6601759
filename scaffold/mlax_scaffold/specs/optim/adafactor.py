import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    Size,
    ema,
    mean,
    moment,
    zeros,
)


class Adafactor(Optimizer):
    """Adafactor: scales gradients by their mean square, kept as rows and columns.

    With r = 1 / t^decay_exponent and s = g^2 + epsilon, over the two largest axes:
    R = (1 - r) R + r mean_columns(s);  C = (1 - r) C + r mean_rows(s);
    u = g / sqrt(R C / mean(R)), clipped to a root mean square of clipping_threshold;
    update = -(learning_rate * max(rms(weight), 1e-3) * u + weight_decay * weight)

    Shazeer & Stern, 2018, arXiv:1804.04235. Small weights, and those of one axis, keep
    the whole mean square. Deviation: `epsilon` is at least the smallest normal number
    of the dtype. What is not kept is an empty array.
    """

    learning_rate: Scheduled  #: step size
    min_factored_size: Size = 128  #: least size of the two axes that are factored
    decay_exponent: NonNegative = 0.8  #: exponent of the decay of the averages
    scale_by_weight: bool = True  #: whether the step is scaled by the weight's rms
    clipping_threshold: Positive | None = 1.0  #: largest rms of a step; None: any
    momentum: Decay = 0.0  #: decay of the mean of the steps; 0: none is kept
    weight_decay: NonNegative = 0.0  #: strength of the decay, not scaled by the rate
    epsilon: NonNegative = 1e-30  #: added to squares of gradients
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def factored_axes(self, shape):
        """The two largest axes, the smaller one first; none of a small weight."""
        axes = sorted(range(len(shape)), key=lambda axis: shape[axis])[-2:]
        factored = len(axes) == 2 and shape[axes[0]] >= self.min_factored_size
        return tuple(axes) if factored else ()

    def setup(self, param):
        shape = param.shape
        axes = self.factored_axes(shape)
        row = [n for a, n in enumerate(shape) if a != axes[1]] if axes else (0,)
        column = [n for a, n in enumerate(shape) if a != axes[0]] if axes else (0,)
        self.row = moment(zeros, row, self.moment_dtype)
        self.column = moment(zeros, column, self.moment_dtype)
        self.square = moment(zeros, (0,) if axes else shape, self.moment_dtype)
        self.trace = (
            moment(zeros, shape, self.moment_dtype) if self.momentum > 0.0 else None
        )

    def prepare(self, grads, params):
        self.rate = self.step**-self.decay_exponent

    def update(self, grad, param):
        square = lax.square(grad) + max(self.epsilon, float(jnp.finfo(grad.dtype).tiny))
        if axes := self.factored_axes(param.shape):
            small, large = axes
            self.row = self.row + self.rate * (mean(square, axis=large) - self.row)
            self.column = self.column + self.rate * (
                mean(square, axis=small) - self.column
            )
            within = small - 1 if small > large else small
            row = self.row / mean(self.row, axis=within, keepdims=True)
            u = grad * lax.expand_dims(lax.rsqrt(row), (large,))
            u = u * lax.expand_dims(lax.rsqrt(self.column), (small,))
        else:
            self.square = self.square + self.rate * (square - self.square)
            u = grad * lax.rsqrt(self.square)
        if self.clipping_threshold is not None:
            rms = lax.sqrt(mean(lax.square(u)))
            u = u / jnp.maximum(1.0, rms / self.clipping_threshold)
        u = self.learning_rate * u
        if self.scale_by_weight:
            u = u * jnp.maximum(lax.sqrt(mean(lax.square(param))), 1e-3)
        if self.trace is not None:
            self.trace = ema(self.trace, u, decay=self.momentum)
            u = self.trace
        return -(u + self.weight_decay * param)
