from mlax_scaffold.spec import (
    Float,
    Initializer,
    Layer,
    Padding,
    PerDim,
    Precision,
    Size,
    zeros,
)
from mlax_scaffold.specs.nn.conv import Conv
from mlax_scaffold.specs.nn.depthwise_conv import DepthwiseConv


class SeparableConv(Layer):
    """Convolution of each channel by itself, then of all channels at each place.

    The first has no bias. Chollet, 2016, arXiv:1610.02357.
    """

    spatial_dims: Size  #: number of spatial axes
    in_channels: Size  #: channels of the input
    out_channels: Size  #: channels of the output
    kernel_size: PerDim[Size]  #: size of the kernel
    channel_multiplier: Size = 1  #: number of channels that are first made of one
    strides: PerDim[Size] = 1  #: steps from window to window
    padding: Padding = "SAME"  #: of the input, with zeros
    dilation: PerDim[Size] = 1  #: steps from element to element of the kernel
    channel_last: bool = False  #: whether channels are the last axis
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    depthwise_initializer: Initializer | None = None  #: of the first kernel
    pointwise_initializer: Initializer | None = None  #: of the second kernel
    bias_initializer: Initializer = zeros  #: of the bias

    def setup(self):
        self.depthwise = DepthwiseConv(
            self.spatial_dims,
            self.in_channels,
            self.kernel_size,
            self.channel_multiplier,
            self.strides,
            self.padding,
            self.dilation,
            self.channel_last,
            use_bias=False,
            precision=self.precision,
            kernel_initializer=self.depthwise_initializer,
        )
        self.pointwise = Conv(
            self.spatial_dims,
            self.in_channels * self.channel_multiplier,
            self.out_channels,
            kernel_size=1,
            channel_last=self.channel_last,
            use_bias=self.use_bias,
            precision=self.precision,
            kernel_initializer=self.pointwise_initializer,
            bias_initializer=self.bias_initializer,
        )

    def forward(
        self,
        x: Float[
            "*batch *spatial in_channels if channel_last else *batch in_channels *spatial"
        ],
    ) -> Float[
        "*batch *out_spatial out_channels if channel_last else *batch out_channels *out_spatial"
    ]:
        return self.pointwise(self.depthwise(x))
