import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    AxisName,
    Bool,
    DType,
    Float,
    Layer,
    Positive,
    Probability,
    Shape,
    cast,
    deviations,
    divide_by_scaled_root,
    ema,
    normalize,
    ones,
    require,
    standardize,
    state,
    stored_moments,
    zeros,
)


class RunningZNorm(Layer):
    """Standard score over any axes, at inference by moving averages of both moments.

    y = (x - mean) / sqrt(var + epsilon), without weights. Mean and (biased) variance are
    those of x over `axis` in training, where averages of them move: one for each element
    of the other axes. BatchNorm is this over all axes but that of channels, with weights.

    Ioffe & Szegedy, 2015, arXiv:1502.03167. The averages are computed and kept in at least
    float32: in bfloat16 a decay of 0.999 is 1. An empty batch leaves them alone, and
    so does a mask those of which it selects nothing. The moments of x are of the elements
    that the mask selects.
    """

    features: Shape  #: sizes of the axes that are not normalized, in order
    axis: Axis  #: axes that are normalized together
    momentum: Probability = 0.9  #: decay of the moving averages
    epsilon: Positive = 1e-5  #: added to the variance
    axis_name: AxisName | None = None  #: mapped axes of devices, averaged over as well
    accum_dtype: DType | None = None  #: dtype of the computation; None: that of x

    examples = (
        {"features": (3,), "axis": 0, "x": (4, 3), "y": (4, 3)},
        {"features": (2, 3), "axis": (0, -2), "x": (4, 2, 5, 3), "y": (4, 2, 5, 3)},
        {"features": (), "axis": (-1, 0), "x": (3, 4), "y": (3, 4)},
    )

    def setup(self):
        self.mean = state(zeros, self.features, at_least=jnp.float32)
        self.var = state(ones, self.features, at_least=jnp.float32)

    def forward(
        self, x: Float["*shape"], *, mask: Bool["# *shape"] | None = None
    ) -> Float["*shape"]:
        axes = tuple(a % x.ndim for a in self.axis)
        others = tuple(n for a, n in enumerate(x.shape) if a not in axes)
        require(
            others == self.features,
            "the axes that are not normalized have the sizes features",
        )
        wide = cast(x, dtype=self.accum_dtype or x.dtype)
        if self.training:
            y = standardize(
                wide,
                mask,
                axis=axes,
                epsilon=self.epsilon,
                axis_name=self.axis_name,
            )
            if x.size > 0:
                mean, _, square, scale = deviations(
                    wide, mask, axis=axes, axis_name=self.axis_name
                )
                kept = self.stored.var.dtype
                mean = mean.astype(kept).reshape(self.features)
                var = square.astype(kept) * lax.square(scale.astype(kept))
                var = var.reshape(self.features)
                # The average of an infinite variance would never be finite again.
                var = jnp.minimum(var, jnp.finfo(kept).max)
                if mask is not None:
                    # There are no moments where nothing is selected.
                    there = jnp.any(jnp.broadcast_to(mask, x.shape), axes)
                    if self.axis_name is not None:
                        there = lax.psum(there.astype(jnp.int32), self.axis_name) > 0
                    mean = jnp.where(there, mean, self.stored.mean)
                    var = jnp.where(there, var, self.stored.var)
                self.mean = ema(self.stored.mean, mean, decay=self.momentum)
                self.var = ema(self.stored.var, var, decay=self.momentum)
            return y.astype(x.dtype)
        shape = [1 if a in axes else n for a, n in enumerate(x.shape)]
        if jnp.finfo(wide.dtype).maxexp > 16:
            mean = self.stored.mean.astype(wide.dtype).reshape(shape)
            var = self.stored.var.astype(wide.dtype).reshape(shape)
            return normalize(wide, mean, var, epsilon=self.epsilon).astype(x.dtype)
        # The moments of numbers of float16 may be out of its range.
        moments = stored_moments(self.stored.mean, self.stored.var, wide.dtype)
        mean, var, unit, scale = jnp.stack(moments).reshape(4, *shape)
        deviation = divide_by_scaled_root(
            wide / unit - mean, var, scale, epsilon=self.epsilon
        )
        return (deviation * (unit / scale)).astype(x.dtype)
