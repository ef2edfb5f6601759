from mlax_scaffold.spec import (
    AxisName,
    Bool,
    DType,
    Float,
    Layer,
    Positive,
    Size,
    group_norm,
    ones,
    require,
    spread,
    trainable,
    zeros,
)


class GroupNorm(Layer, invariances=["independent batch"]):
    """Normalizes groups of channels of each example, then scales and shifts channels.

    Wu & He, 2018, arXiv:1803.08494. Epsilon is that of PyTorch and
    haiku (of flax: 1e-6). Mean and variance are of the elements that the mask selects.
    Deviation from flax: what it calls group_size is channels / groups.
    """

    groups: Size  #: number of groups
    channels: Size  #: number of channels; a multiple of groups
    channel_last: bool = False  #: whether channels are the last axis, else the second
    use_scale: bool = True  #: whether the result is multiplied by a weight
    use_bias: bool = True  #: whether a bias is added
    epsilon: Positive = 1e-5  #: added to the variance
    axis_name: AxisName | None = None  #: mapped axes of devices, averaged over as well
    accum_dtype: DType | None = None  #: dtype of the statistics; None: that of x

    def setup(self):
        require(self.channels % self.groups == 0, "groups must divide channels")
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
        y = group_norm(
            x,
            mask,
            groups=self.groups,
            channel_last=self.channel_last,
            epsilon=self.epsilon,
            axis_name=self.axis_name,
            accum_dtype=self.accum_dtype,
        )
        shape = [1] * x.ndim
        shape[-1 if self.channel_last else 1] = self.channels
        y = y if self.scale is None else y * spread(self.scale.reshape(shape), x.shape)
        return y if self.bias is None else y + spread(self.bias.reshape(shape), x.shape)
