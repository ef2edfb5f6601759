import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Count,
    Decay,
    DType,
    Mask,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    Size,
    ema,
    mean,
    moment,
    rms,
    running_sum,
    saturate,
    steps_since,
    zeros,
)


class Adafactor(Optimizer):
    """Adafactor: scales gradients by their mean square, kept as rows and columns.

    With r = 1 / (t - decay_offset)^decay_exponent and s = g^2 + epsilon, over the two
    largest axes:
    R = (1 - r) R + r mean_columns(s);  C = (1 - r) C + r mean_rows(s);
    u = g / sqrt(R C / mean(R)), clipped to a root mean square of clipping_threshold;
    update = -(learning_rate * max(rms(weight), 1e-3) * u + weight_decay * weight)

    Shazeer & Stern, 2018, arXiv:1804.04235. Small weights, and those of one axis, keep
    the whole mean square; what is not kept is an empty array. Deviations: `epsilon` is at
    least the smallest normal number of the dtype; r is 1 until step decay_offset + 1.
    """

    learning_rate: Scheduled  #: step size
    min_factored_size: Size = 128  #: least size of the two axes that are factored
    decay_exponent: NonNegative = 0.8  #: exponent of the decay of the averages
    decay_offset: Count = 0  #: number of steps before those that count, to fine-tune
    scale_by_weight: bool = True  #: whether the step is scaled by the weight's rms
    clipping_threshold: Positive | None = 1.0  #: largest rms of a step; None: any
    momentum: Decay = 0.0  #: decay of the mean of the steps; 0: none is kept
    weight_decay: Scheduled = 0.0  #: strength of the decay, not scaled by the rate
    mask: Mask | None = None  #: weights that decay; None: all
    epsilon: NonNegative = 1e-30  #: added to squares of gradients
    factored: bool = True  #: whether large weights keep rows and columns
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def factored_axes(self, shape):
        """The two largest axes, the smaller one first; none of a small weight."""
        axes = sorted(range(len(shape)), key=lambda axis: shape[axis])[-2:]
        large = len(axes) == 2 and shape[axes[0]] >= self.min_factored_size
        return tuple(axes) if self.factored and large else ()

    def setup(self, param):
        shape = param.shape
        axes = self.factored_axes(shape)
        row_shape = without(shape, axes[1]) if axes else (0,)
        column_shape = without(shape, axes[0]) if axes else (0,)
        #: mean squares over the largest axis, of a weight that is factored
        self.row = moment(zeros, row_shape, self.moment_dtype)
        #: mean squares over the second largest axis, of a weight that is factored
        self.column = moment(zeros, column_shape, self.moment_dtype)
        #: mean squares of another weight
        self.square = moment(zeros, (0,) if axes else shape, self.moment_dtype)
        #: mean of the steps
        self.trace = (
            moment(zeros, shape, self.moment_dtype) if self.momentum > 0.0 else None
        )

    def prepare(self, grads, params):
        counted = jnp.maximum(steps_since(self.step_number, self.decay_offset), 1)
        number = counted.astype(self.step.dtype)
        self.rate = number**-self.decay_exponent

    def update(self, grad, param):
        epsilon = max(self.epsilon, float(jnp.finfo(grad.dtype).tiny))
        if axes := self.factored_axes(param.shape):
            small, large = axes
            # Squares that several sums share would be stored: each reads the gradient.
            again, once_more = lax.optimization_barrier((grad, grad))
            row_mean = saturate(mean(lax.square(grad), axis=large) + epsilon)
            column_mean = saturate(mean(lax.square(again), axis=small) + epsilon)
            change = self.rate * (row_mean - self.row)
            self.row = running_sum(self.row, change, self.dither)
            change = self.rate * (column_mean - self.column)
            self.column = running_sum(self.column, change, self.dither)
            within = small - 1 if small > large else small
            row_scale = lax.rsqrt(self.row / mean(self.row, axis=within, keepdims=True))
            column_scale = lax.expand_dims(lax.rsqrt(self.column), (small,))
            u = grad * lax.expand_dims(row_scale, (large,)) * column_scale
            squares = mean(lax.square(once_more) * lax.square(column_scale), axis=large)
            squares = squares * lax.square(row_scale)
        else:
            squared = saturate(lax.square(grad) + epsilon)
            change = self.rate * (squared - self.square)
            self.square = running_sum(self.square, change, self.dither)
            u = grad * lax.rsqrt(self.square)
            squares = lax.square(u)
        if self.clipping_threshold is not None:
            size = lax.sqrt(mean(squares))
            u = u / jnp.maximum(1.0, size / self.clipping_threshold)
        u = self.learning_rate * u
        if self.scale_by_weight:
            u = u * jnp.maximum(rms(param), 1e-3)
        if self.trace is not None:
            self.trace = ema(self.trace, saturate(u), self.dither, decay=self.momentum)
            u = self.trace
        if self.mask:
            u = u + self.weight_decay * param
        return -u


def without(shape, axis):
    """The shape of the weight without that axis."""
    return *shape[:axis], *shape[axis + 1 :]
