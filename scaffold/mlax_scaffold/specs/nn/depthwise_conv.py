from jax import lax

from mlax_scaffold.spec import (
    Float,
    Layer,
    Padding,
    PerDim,
    Precision,
    Size,
    conv,
    lecun_normal,
    spread,
    trainable,
    zeros,
)


class DepthwiseConv(Layer):
    """Convolution of each channel by itself, to `channel_multiplier` channels.

    The kernel is (channels * channel_multiplier, 1, *kernel_size), and with
    `channel_last` (channels * channel_multiplier, *kernel_size, 1).
    """

    spatial_dims: Size  #: number of spatial axes
    channels: Size  #: channels of the input
    kernel_size: PerDim[Size]  #: size of the kernel
    channel_multiplier: Size = 1  #: number of channels that are made of one
    strides: PerDim[Size] = 1  #: steps from window to window
    padding: Padding = "SAME"  #: of the input, with zeros
    dilation: PerDim[Size] = 1  #: steps from element to element of the kernel
    channel_last: bool = False  #: whether channels are the last axis
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        self.out_channels = self.channels * self.channel_multiplier
        shape = (
            (self.out_channels, *self.kernel_size, 1)
            if self.channel_last
            else (self.out_channels, 1, *self.kernel_size)
        )
        in_axis = -1 if self.channel_last else 1
        self.kernel = trainable(lecun_normal(in_axis=in_axis, out_axis=0), shape)
        self.bias = trainable(zeros, (self.out_channels,)) if self.use_bias else None

    def forward(
        self,
        x: Float[
            "*batch *spatial channels if channel_last else *batch channels *spatial"
        ],
    ) -> Float[
        "*batch *out_spatial out_channels if channel_last else *batch out_channels *out_spatial"
    ]:
        y = conv(
            x,
            self.kernel,
            spatial_dims=self.spatial_dims,
            strides=self.strides,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.channels,
            channel_last=self.channel_last,
            precision=self.precision,
        )
        if self.bias is None:
            return y
        behind = range(1, 1 if self.channel_last else 1 + self.spatial_dims)
        bias = lax.expand_dims(self.bias, behind) if behind else self.bias
        return y + spread(bias, y.shape)
