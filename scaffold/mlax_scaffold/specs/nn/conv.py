from jax import lax

from mlax_scaffold.spec import (
    Float,
    Layer,
    Padding,
    PerDim,
    Precision,
    Size,
    lecun_normal,
    require,
    trainable,
    zeros,
)


class Conv(Layer):
    """Convolution over any number of spatial axes (as a cross-correlation).

    The kernel is (out_channels, in_channels / groups, *kernel_size), and with
    `channel_last` (out_channels, *kernel_size, in_channels / groups).
    """

    spatial_dims: Size  #: number of spatial axes
    in_channels: Size  #: channels of the input
    out_channels: Size  #: channels of the output
    kernel_size: PerDim[Size]  #: size of the kernel
    strides: PerDim[Size] = 1  #: steps from window to window
    padding: Padding = "SAME"  #: of the input, with zeros
    dilation: PerDim[Size] = 1  #: steps from element to element of the kernel
    groups: Size = 1  #: number of groups of channels that are convolved separately
    channel_last: bool = False  #: whether channels are the last axis, else the second
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        require(self.in_channels % self.groups == 0, "groups must divide in_channels")
        require(self.out_channels % self.groups == 0, "groups must divide out_channels")
        out, inner = self.out_channels, self.in_channels // self.groups
        shape = (
            (out, *self.kernel_size, inner)
            if self.channel_last
            else (out, inner, *self.kernel_size)
        )
        in_axis = -1 if self.channel_last else 1
        self.kernel = trainable(lecun_normal(in_axis=in_axis, out_axis=0), shape)
        self.bias = trainable(zeros, (out,)) if self.use_bias else None

    def forward(
        self,
        x: Float[
            "batch *spatial in_channels if channel_last else batch in_channels *spatial"
        ],
    ) -> Float["..."]:
        last = x.ndim - 1
        channel = last if self.channel_last else 1
        spatial = tuple(a for a in range(1, x.ndim) if a != channel)
        layout = (0, channel, *spatial)
        y = lax.conv_general_dilated(
            x,
            self.kernel,
            self.strides,
            self.padding,
            rhs_dilation=self.dilation,
            dimension_numbers=lax.ConvDimensionNumbers(layout, layout, layout),
            feature_group_count=self.groups,
            precision=self.precision,
        )
        if self.bias is None:
            return y
        return y + lax.expand_dims(self.bias, (0, *spatial))
