from mlax_scaffold.spec import (
    DType,
    Float,
    Layer,
    Positive,
    Probability,
    Size,
    cast,
    ema,
    moments,
    normalize,
    ones,
    state,
    trainable,
    zeros,
)


class BatchNorm(Layer):
    """Normalizes each channel over the batch and the spatial axes.

    y = (x - mean) / sqrt(var + epsilon) * scale + bias, with the moments of the batch
    in training, and with their moving averages at inference.

    Ioffe & Szegedy, 2015, arXiv:1502.03167. Deviation: the moving average is that of
    the biased variance, as in flax; PyTorch's is that of the unbiased one.
    """

    channels: Size  #: number of channels
    channel_last: bool = False  #: whether channels are the last axis, else the second
    use_scale: bool = True  #: whether the result is multiplied by a weight
    use_bias: bool = True  #: whether a bias is added
    momentum: Probability = 0.9  #: decay of the moving averages
    epsilon: Positive = 1e-5  #: added to the variance
    axis_name: str | None = None  #: mapped axis of devices to average the moments over
    accum_dtype: DType | None = None  #: dtype of the computation; None: that of x

    def setup(self):
        self.scale = trainable(ones, (self.channels,)) if self.use_scale else None
        self.bias = trainable(zeros, (self.channels,)) if self.use_bias else None
        self.mean = state(zeros, (self.channels,))
        self.var = state(ones, (self.channels,))

    def forward(
        self,
        x: Float[
            "batch *spatial channels if channel_last else batch channels *spatial"
        ],
    ) -> Float["batch *spatial channels if channel_last else batch channels *spatial"]:
        channel = x.ndim - 1 if self.channel_last else 1
        wide = cast(x, dtype=self.accum_dtype or x.dtype)
        if self.training:
            axis = tuple(a for a in range(x.ndim) if a != channel)
            mean, var = moments(wide, axis=axis, axis_name=self.axis_name)
            self.mean = ema(self.mean, cast(mean, dtype=x.dtype), decay=self.momentum)
            self.var = ema(self.var, cast(var, dtype=x.dtype), decay=self.momentum)
        else:
            mean = cast(self.mean, dtype=wide.dtype)
            var = cast(self.var, dtype=wide.dtype)
        shape = [1] * x.ndim
        shape[channel] = self.channels
        y = normalize(
            wide, mean.reshape(shape), var.reshape(shape), epsilon=self.epsilon
        )
        y = cast(y, dtype=x.dtype)
        y = y if self.scale is None else y * self.scale.reshape(shape)
        return y if self.bias is None else y + self.bias.reshape(shape)
