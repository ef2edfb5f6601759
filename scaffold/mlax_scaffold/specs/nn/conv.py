import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Bool,
    ConvGeneralDilated,
    Float,
    Layer,
    Literal,
    Padding,
    PerDim,
    Precision,
    Size,
    conv,
    lecun_normal,
    require,
    spread,
    trainable,
    zeros,
)


class Conv(Layer):
    """Convolution over any number of spatial axes (as a cross-correlation).

    The kernel is (out_channels, in_channels / groups, *kernel_size), and with
    `channel_last` (out_channels, *kernel_size, in_channels / groups).

    As flax's and equinox's. What flax calls the paddings "CIRCULAR" and "REFLECT" is a
    padding of ((k - 1) // 2, k // 2) for kernels of size k, with that `padding_mode`. Where
    `kernel_mask` is False, the kernel counts as zero. `conv_general_dilated` may convolve in
    a dtype of its own: it gets both operands in the dtype of x, and its result should have it.
    """

    spatial_dims: Size  #: number of spatial axes
    in_channels: Size  #: channels of the input
    out_channels: Size  #: channels of the output
    kernel_size: PerDim[Size]  #: size of the kernel
    strides: PerDim[Size] = 1  #: steps from window to window
    padding: Padding = "SAME"  #: of the input
    #: what the input is padded with
    padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros"
    dilation: PerDim[Size] = 1  #: steps from element to element of the kernel
    input_dilation: PerDim[Size] = 1  #: steps between elements of the input
    groups: Size = 1  #: number of groups of channels that are convolved separately
    channel_last: bool = False  #: whether channels are the last axis
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    #: what convolves the input and the kernel
    conv_general_dilated: ConvGeneralDilated = lax.conv_general_dilated

    def setup(self):
        require(self.in_channels % self.groups == 0, "groups must divide in_channels")
        require(self.out_channels % self.groups == 0, "groups must divide out_channels")
        out, inner = self.out_channels, self.in_channels // self.groups
        self.kernel_shape: tuple[int, ...] = (
            (out, *self.kernel_size, inner)
            if self.channel_last
            else (out, inner, *self.kernel_size)
        )
        in_axis = -1 if self.channel_last else 1
        self.kernel = trainable(
            lecun_normal(in_axis=in_axis, out_axis=0), self.kernel_shape
        )
        self.bias = trainable(zeros, (out,)) if self.use_bias else None

    def forward(
        self,
        x: Float[
            "*batch *spatial in_channels if channel_last else *batch in_channels *spatial"
        ],
        *,
        kernel_mask: Bool["# *kernel_shape"] | None = None,
    ) -> Float[
        "*batch *out_spatial out_channels if channel_last else *batch out_channels *out_spatial"
    ]:
        kernel = (
            self.kernel
            if kernel_mask is None
            else jnp.where(kernel_mask, self.kernel, 0.0)
        )
        y = conv(
            x,
            kernel,
            spatial_dims=self.spatial_dims,
            strides=self.strides,
            padding=self.padding,
            padding_mode=self.padding_mode,
            dilation=self.dilation,
            input_dilation=self.input_dilation,
            groups=self.groups,
            channel_last=self.channel_last,
            precision=self.precision,
            conv_general_dilated=self.conv_general_dilated,
        )
        if self.bias is None:
            return y
        behind = range(1, 1 if self.channel_last else 1 + self.spatial_dims)
        bias = lax.expand_dims(self.bias, behind) if behind else self.bias
        return y + spread(bias, y.shape)
