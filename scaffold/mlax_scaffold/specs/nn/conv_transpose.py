import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Bool,
    Count,
    Float,
    Layer,
    Literal,
    Padding,
    PerDim,
    Precision,
    Size,
    lecun_normal,
    pad_axes,
    require,
    spread,
    trainable,
    zeros,
)


class ConvTranspose(Layer):
    """Transposed convolution: each element of the input adds a kernel to the output.

    Along an axis of size n, kernels of reach r = (kernel_size - 1) dilation + 1 fill
    (n - 1) strides + r elements. `padding` is cut off from them: it is that of the
    convolution that this one transposes, as in equinox and PyTorch. "SAME" and "CAUSAL" cut
    down to n strides, "CAUSAL" at the end; "VALID" cuts nothing, as in flax.

    The kernel is (out_channels, in_channels / groups, *kernel_size), and with
    `channel_last` (out_channels, *kernel_size, in_channels / groups), and is not flipped, as
    in flax and equinox. With `flip_kernel`, as in PyTorch, this is the gradient of Conv, whose
    kernel has the axes of channels exchanged. Dumoulin & Visin, 2016, arXiv:1603.07285.
    Where `kernel_mask` is False, the kernel counts as zero.
    """

    spatial_dims: Size  #: number of spatial axes
    in_channels: Size  #: channels of the input
    out_channels: Size  #: channels of the output
    kernel_size: PerDim[Size]  #: size of the kernel
    strides: PerDim[Size] = 1  #: steps from kernel to kernel in the output
    padding: Padding = "SAME"  #: what is cut off from the output
    padding_mode: Literal["zeros", "circular"] = "zeros"  #: what lies around the input
    output_padding: PerDim[Count] = 0  #: elements that are added at the end
    dilation: PerDim[Size] = 1  #: steps from element to element of the kernel
    groups: Size = 1  #: number of groups of channels that are convolved separately
    flip_kernel: bool = False  #: whether the kernel is flipped in space
    channel_last: bool = False  #: whether channels are the last axis
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

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
        n = self.spatial_dims
        batch = x.shape[: x.ndim - n - 1]
        images = x.reshape(math.prod(batch), *x.shape[x.ndim - n - 1 :])
        channel, first = (n + 1, 1) if self.channel_last else (1, 2)
        spatial = tuple(range(first, first + n))
        widths = []
        for axis in range(n):
            reach = (self.kernel_size[axis] - 1) * self.dilation[axis] + 1
            stride, added = self.strides[axis], self.output_padding[axis]
            if isinstance(self.padding, str):
                added += max(stride - reach, 0)
                cut = max(reach - stride, 0)
                low, high = {
                    "SAME": (cut // 2, cut - cut // 2),
                    "SAME_LOWER": (cut - cut // 2, cut // 2),
                    "CAUSAL": (0, cut),
                    "VALID": (0, 0),
                }[self.padding]
            else:
                low, high = self.padding[axis]
            before, after = reach - 1 - low, reach - 1 - high + added
            size = (images.shape[first + axis] - 1) * stride + 1
            require(
                size + min(before, 0) + min(after, 0) >= 0,
                "padding must not cut off more than there is",
            )
            widths.append((before, after))
        if self.padding_mode == "circular":
            require(
                min(low for low, _ in widths) >= 0
                and min(high for _, high in widths) >= 0,
                "padding must be smaller than the kernel",
            )
            wrapped = []
            for axis, stride in enumerate(self.strides):
                low, high = widths[axis]
                wrapped.append((low // stride, high // stride))
                widths[axis] = (low % stride, high % stride)
            images = pad_axes(images, wrapped, first, "circular")
        kernel = (
            self.kernel
            if kernel_mask is None
            else jnp.where(kernel_mask, self.kernel, 0.0)
        )
        kernel = lax.rev(kernel, spatial) if self.flip_kernel else kernel
        layout = (0, channel, *spatial)
        y = lax.conv_general_dilated(
            images,
            kernel,
            (1,) * n,
            widths,
            lhs_dilation=self.strides,
            rhs_dilation=self.dilation,
            dimension_numbers=lax.ConvDimensionNumbers(layout, layout, layout),
            feature_group_count=self.groups,
            precision=self.precision,
        )
        y = y.reshape(*batch, *y.shape[1:])
        if self.bias is None:
            return y
        behind = range(1, 1 if self.channel_last else 1 + n)
        bias = lax.expand_dims(self.bias, behind) if behind else self.bias
        return y + spread(bias, y.shape)
