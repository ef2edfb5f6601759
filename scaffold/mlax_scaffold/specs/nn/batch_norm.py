import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    AxisName,
    Bool,
    Count,
    DType,
    Float,
    Layer,
    Positive,
    Probability,
    Size,
    cast,
    deviations,
    divide_by_scaled_root,
    ema,
    ones,
    scaled_scores,
    spread,
    state,
    stored_moments,
    trainable,
    zeros,
)


class BatchNorm(
    Layer, invariances=["independent batch if inference", "permutable batch"]
):
    """Normalizes each channel over the batch and the spatial axes.

    y = (x - mean) / sqrt(var + epsilon) * scale + bias, with the moments of the batch
    in training, and with their moving averages at inference.

    Ioffe & Szegedy, 2015, arXiv:1502.03167. The averages are computed and kept in at
    least float32: in bfloat16 a decay of 0.999 is 1. An empty batch leaves them alone,
    and so does a mask those of a channel of which it selects nothing.
    Deviation: the moving average is that of the biased variance, as in flax; PyTorch's
    is that of the unbiased one. `momentum` is the decay, as in flax and equinox, whose
    default is 0.99; 0.9 is the decay of PyTorch, which calls its complement momentum.
    The moments of the batch are of the elements that the mask selects.

    Where `jax.vmap(..., axis_name="batch")` maps over examples, `batch_dims` is 0, and
    `axis_name` has that name. For groups of devices make them an axis of the mesh, and
    name the other axis: devices of a group are then averaged over.
    """

    channels: Size  #: number of channels
    channel_last: bool = False  #: whether channels are last, else behind the batch
    use_scale: bool = True  #: whether the result is multiplied by a weight
    use_bias: bool = True  #: whether a bias is added
    momentum: Probability = 0.9  #: decay of the moving averages
    epsilon: Positive = 1e-5  #: added to the variance
    axis_name: AxisName | None = None  #: mapped axes of devices, averaged over as well
    accum_dtype: DType | None = None  #: dtype of the computation; None: that of x
    batch_dims: Count = 1  #: number of axes before channels, or before the spatial axes

    def setup(self):
        self.scale = trainable(ones, (self.channels,)) if self.use_scale else None
        self.bias = trainable(zeros, (self.channels,)) if self.use_bias else None
        self.mean = state(zeros, (self.channels,), at_least=jnp.float32)
        self.var = state(ones, (self.channels,), at_least=jnp.float32)

    def forward(
        self,
        x: Float[
            "*batch *spatial channels if channel_last else *batch channels *spatial"
        ],
        *,
        mask: Bool[
            "# *batch *spatial channels if channel_last else # *batch channels *spatial"
        ]
        | None = None,
    ) -> Float[
        "*batch *spatial channels if channel_last else *batch channels *spatial"
    ]:
        channel = x.ndim - 1 if self.channel_last else self.batch_dims
        shape = [1] * x.ndim
        shape[channel] = self.channels
        wide = cast(x, dtype=self.accum_dtype or x.dtype)
        weight = (
            jnp.ones(shape, wide.dtype)
            if self.scale is None
            else cast(self.scale.reshape(shape), dtype=wide.dtype)
        )
        if self.training and x.size > 0:
            axes = tuple(a for a in range(x.ndim) if a != channel)
            mean, deviation, square, scale = deviations(
                wide,
                mask,
                axis=axes,
                axis_name=self.axis_name,
                epsilon=self.epsilon,
            )
            if jnp.finfo(wide.dtype).bits > 16:
                factor = divide_by_scaled_root(
                    weight, square, scale, epsilon=self.epsilon
                )
            else:
                # Its gradient stays in the range of float16.
                deviation = scaled_scores(
                    deviation,
                    scale,
                    mask,
                    axis=axes,
                    epsilon=self.epsilon,
                    axis_name=self.axis_name,
                )
                factor = weight
            mean = mean.reshape(-1).astype(self.stored.mean.dtype)
            var = square.reshape(-1).astype(self.stored.var.dtype)
            var = var * lax.square(scale.reshape(-1).astype(var.dtype))
            # The average of an infinite variance would never be finite again.
            var = jnp.minimum(var, jnp.finfo(var.dtype).max)
            if mask is not None:
                # There are no moments where nothing is selected.
                there = jnp.any(jnp.broadcast_to(mask, x.shape), axes)
                if self.axis_name is not None:
                    there = lax.psum(there.astype(jnp.int32), self.axis_name) > 0
                mean = jnp.where(there, mean, self.stored.mean)
                var = jnp.where(there, var, self.stored.var)
            self.mean = ema(self.stored.mean, mean, decay=self.momentum)
            self.var = ema(self.stored.var, var, decay=self.momentum)
        elif jnp.finfo(wide.dtype).maxexp > 16:
            mean = self.stored.mean.astype(wide.dtype).reshape(shape)
            var = self.stored.var.astype(wide.dtype).reshape(shape)
            deviation = wide - mean
            factor = weight * lax.rsqrt(var + self.epsilon)
        else:
            # The moments of numbers of float16 may be out of its range.
            moments = stored_moments(self.stored.mean, self.stored.var, wide.dtype)
            mean, var, unit, scale = jnp.stack(moments).reshape(4, *shape)
            deviation = divide_by_scaled_root(
                wide / unit - mean, var, scale, epsilon=self.epsilon
            )
            deviation = deviation * (unit / scale)
            factor = weight
        # With one factor for each channel, every element is multiplied once.
        y = (deviation * spread(factor, x.shape)).astype(x.dtype)
        if self.bias is None:
            return y
        return y + spread(self.bias.reshape(shape), x.shape)
