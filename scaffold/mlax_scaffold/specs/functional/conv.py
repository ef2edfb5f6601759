import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    ConvGeneralDilated,
    Float,
    Literal,
    Padding,
    PerDim,
    Precision,
    Size,
    explicit_padding,
    function,
    pad_axes,
    require,
)


@function
def conv(
    x: Float[
        "*batch *spatial groups*inner if channel_last else *batch groups*inner *spatial"
    ],
    kernel: Float[
        "out *kernel_spatial inner if channel_last else out inner *kernel_spatial"
    ],
    *,
    spatial_dims: Size,  #: number of spatial axes
    strides: PerDim[Size] = 1,  #: steps from window to window
    padding: Padding = "SAME",  #: of the input
    padding_mode: Literal[
        "zeros", "reflect", "replicate", "circular"
    ] = "zeros",  #: what the input is padded with
    dilation: PerDim[Size] = 1,  #: steps from element to element of the kernel
    input_dilation: PerDim[Size] = 1,  #: steps between elements of the input
    groups: Size = 1,  #: number of groups of channels that are convolved separately
    channel_last: bool = False,  #: whether channels are the last axis
    precision: Precision | None = None,  #: of the products, see jax.lax.Precision
    #: what convolves the input and the kernel
    conv_general_dilated: ConvGeneralDilated = lax.conv_general_dilated,
) -> Float["*batch *out_spatial out if channel_last else *batch out *out_spatial"]:
    """Convolution over any number of spatial axes (as a cross-correlation).

    `inner`, the number of channels of the kernel, is channels / groups.
    """
    before = x.ndim - spatial_dims - 1
    channel, first = (spatial_dims + 1, 1) if channel_last else (1, 2)
    spatial = tuple(range(first, first + spatial_dims))
    images = x.reshape(math.prod(x.shape[:before]), *x.shape[before:])
    require(
        images.shape[channel] == kernel.shape[channel] * groups,
        "the channels of x must be those of the kernel, times groups",
    )
    require(
        kernel.shape[0] % groups == 0, "groups must divide the channels of the result"
    )
    size = [
        (images.shape[a] - 1) * d + 1
        for a, d in zip(spatial, input_dilation, strict=True)
    ]
    window = [kernel.shape[a] for a in spatial]
    pairs = explicit_padding(padding, size, window, strides, dilation)
    # A convolution pads by numbers: what has a symbol in it is padded before.
    known = all(isinstance(n, int) for pair in pairs for n in pair)
    if padding_mode != "zeros" or not known:
        if max(input_dilation) > 1:
            interior = [(0, 0, 0)] * images.ndim
            for a, d in zip(spatial, input_dilation, strict=True):
                interior[a] = (0, 0, d - 1)
            images = lax.pad(images, jnp.zeros((), x.dtype), interior)
            input_dilation = (1,) * spatial_dims
        images = pad_axes(images, pairs, first, padding_mode)
        pairs = ((0, 0),) * spatial_dims
    layout = (0, channel, *spatial)
    y = conv_general_dilated(
        images,
        kernel,
        strides,
        pairs,
        lhs_dilation=input_dilation,
        rhs_dilation=dilation,
        dimension_numbers=lax.ConvDimensionNumbers(layout, layout, layout),
        feature_group_count=groups,
        precision=precision,
    )
    return y.reshape(*x.shape[:before], *y.shape[1:])
