from mlax_scaffold.spec import (
    AxisName,
    Bool,
    DType,
    Float,
    Layer,
    Positive,
    Size,
    instance_norm,
    ones,
    spread,
    trainable,
    zeros,
)


class InstanceNorm(Layer, invariances=["independent batch"]):
    """Normalizes each channel of each example, then scales and shifts channels.

    y = (x - mean) / sqrt(var + epsilon) * scale + bias, with moments over the spatial
    axes. Ulyanov et al., 2016, arXiv:1607.08022. Epsilon is that of PyTorch and
    haiku (of flax: 1e-6). Mean and variance are of the elements that the mask
    selects.
    """

    channels: Size  #: number of channels
    channel_last: bool = False  #: whether channels are the last axis, else the second
    use_scale: bool = True  #: whether the result is multiplied by a weight
    use_bias: bool = True  #: whether a bias is added
    epsilon: Positive = 1e-5  #: added to the variance
    axis_name: AxisName | None = None  #: mapped axes of devices, averaged over as well
    accum_dtype: DType | None = None  #: dtype of the statistics; None: that of x

    def setup(self):
        self.scale = trainable(ones, (self.channels,)) if self.use_scale else None
        self.bias = trainable(zeros, (self.channels,)) if self.use_bias else None

    def forward(
        self,
        x: Float[
            "batch *spatial channels if channel_last else batch channels *spatial"
        ],
        *,
        mask: Bool[
            "# batch *spatial channels if channel_last else # batch channels *spatial"
        ]
        | None = None,
    ) -> Float["batch *spatial channels if channel_last else batch channels *spatial"]:
        y = instance_norm(
            x,
            mask,
            channel_last=self.channel_last,
            epsilon=self.epsilon,
            axis_name=self.axis_name,
            accum_dtype=self.accum_dtype,
        )
        shape = [1] * x.ndim
        shape[-1 if self.channel_last else 1] = self.channels
        y = y if self.scale is None else y * spread(self.scale.reshape(shape), x.shape)
        return y if self.bias is None else y + spread(self.bias.reshape(shape), x.shape)
