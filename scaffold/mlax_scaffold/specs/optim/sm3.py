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


class SM3(Optimizer):
    """AdaGrad that keeps, of the sums of squares, a bound for each index of each axis.

    v[i, j] = min(r[i], c[j]) + g[i, j]^2;  r[i] = max_j v[i, j];  c[j] = max_i v[i, j];
    m = momentum m + (1 - momentum) g / sqrt(v + epsilon);  update = -learning_rate * m

    Anil et al., 2019, arXiv:1901.11150 (SM3-II). The bounds of all axes are one vector,
    one axis after another; weights with at most one axis keep v. Deviation: `epsilon` is
    at least the smallest normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    momentum: Decay = 0.9  #: decay of the mean of the steps
    epsilon: NonNegative = 1e-8  #: added to the sums of squares, under the root
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        shape = param.shape if param.ndim < 2 else (sum(param.shape),)
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.bounds = moment(zeros, shape, self.moment_dtype)

    def update(self, grad, param):
        epsilon = max(self.epsilon, float(jnp.finfo(grad.dtype).tiny))
        total, start = self.bounds, 0
        if param.ndim > 1:
            total = jnp.full_like(grad, jnp.inf)
            for axis, size in enumerate(param.shape):
                bound = lax.slice_in_dim(self.bounds, start, start + size)
                bound = lax.broadcast_in_dim(bound, param.shape, (axis,))
                total, start = lax.min(total, bound), start + size
        total = saturate(running_sum(total, lax.square(grad), self.dither))
        self.bounds = total
        if param.ndim > 1:
            axes = range(param.ndim)
            others = [[a for a in axes if a != axis] for axis in axes]
            self.bounds = jnp.concatenate(
                [jnp.max(total, o, initial=0.0) for o in others]
            )
        step = grad * lax.rsqrt(total + epsilon)
        self.mean = ema(self.mean, step, self.dither, decay=self.momentum)
        return -self.learning_rate * self.mean
