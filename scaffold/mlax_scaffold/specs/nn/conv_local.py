import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Bool,
    Float,
    Layer,
    Literal,
    Padding,
    PerDim,
    Precision,
    Size,
    explicit_padding,
    lecun_normal,
    pad_axes,
    require,
    spread,
    trainable,
    zeros,
)


class ConvLocal(Layer):
    """Convolution with a kernel and a bias of its own for each place of the output.

    The kernel is (out_channels, patch, *output_size), and with `channel_last`
    (out_channels, *output_size, patch), where patch is in_channels * prod(kernel_size) in
    that order; where `kernel_mask` is False, it counts as zero. Deviation from flax: at
    initialization, places do not count as inputs.
    """

    spatial_dims: Size  #: number of spatial axes
    in_channels: Size  #: channels of the input
    out_channels: Size  #: channels of the output
    input_size: PerDim[Size]  #: sizes of the spatial axes of the input
    kernel_size: PerDim[Size]  #: size of the kernel
    strides: PerDim[Size] = 1  #: steps from window to window
    padding: Padding = "SAME"  #: of the input
    #: what the input is padded with
    padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros"
    dilation: PerDim[Size] = 1  #: steps from element to element of the kernel
    channel_last: bool = False  #: whether channels are the last axis
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        self.pairs = explicit_padding(
            self.padding, self.input_size, self.kernel_size, self.strides, self.dilation
        )
        sizes = zip(
            self.input_size,
            self.pairs,
            self.kernel_size,
            self.dilation,
            self.strides,
            strict=True,
        )
        self.output_size = tuple(
            (n + low + high - (k - 1) * d - 1) // s + 1
            for n, (low, high), k, d, s in sizes
        )
        require(min(self.output_size) > 0, "the kernel must fit into the padded input")
        patch = self.in_channels * math.prod(self.kernel_size)
        self.kernel_shape: tuple[int, ...] = (
            (self.out_channels, *self.output_size, patch)
            if self.channel_last
            else (self.out_channels, patch, *self.output_size)
        )
        in_axis = -1 if self.channel_last else 1
        first = 1 if self.channel_last else 2
        places = tuple(range(first, first + self.spatial_dims))
        self.kernel = trainable(
            lecun_normal(in_axis=in_axis, out_axis=0, batch_axis=places),
            self.kernel_shape,
        )
        bias_shape = (
            (*self.output_size, self.out_channels)
            if self.channel_last
            else (self.out_channels, *self.output_size)
        )
        self.bias = trainable(zeros, bias_shape) if self.use_bias else None

    def forward(
        self,
        x: Float[
            "*batch *input_size in_channels if channel_last else *batch in_channels *input_size"
        ],
        *,
        kernel_mask: Bool["# *kernel_shape"] | None = None,
    ) -> Float[
        "*batch *output_size out_channels if channel_last else *batch out_channels *output_size"
    ]:
        n = self.spatial_dims
        batch = x.shape[: x.ndim - n - 1]
        images = x.reshape(math.prod(batch), *x.shape[x.ndim - n - 1 :])
        channel, first = (n + 1, 1) if self.channel_last else (1, 2)
        pairs = self.pairs
        if self.padding_mode != "zeros":
            images = pad_axes(images, pairs, first, self.padding_mode)
            pairs = ((0, 0),) * n
        layout = (0, channel, *range(first, first + n))
        kernel = (
            self.kernel
            if kernel_mask is None
            else jnp.where(kernel_mask, self.kernel, 0.0)
        )
        y = lax.conv_general_dilated_local(
            images,
            kernel,
            self.strides,
            pairs,
            self.kernel_size,
            rhs_dilation=self.dilation,
            dimension_numbers=lax.ConvDimensionNumbers(layout, layout, layout),
            precision=self.precision,
        )
        y = y.reshape(*batch, *y.shape[1:])
        return y if self.bias is None else y + spread(self.bias, y.shape)
