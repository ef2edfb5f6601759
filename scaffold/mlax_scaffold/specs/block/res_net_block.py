import jax

from mlax_scaffold.spec import (
    Activation,
    DType,
    Float,
    Initializer,
    Layer,
    Positive,
    Precision,
    Probability,
    Size,
    require,
)
from mlax_scaffold.specs.nn.batch_norm import BatchNorm
from mlax_scaffold.specs.nn.conv import Conv


class ResNetBlock(Layer):
    """Two convolutions, or a bottleneck of three, with norms and a shortcut.

    y = activation(shortcut(x) + norm(conv(activation(norm(conv(x)))))). The shortcut is
    a convolution of size 1 and a norm where the shape changes, else nothing.

    He et al., 2015, arXiv:1512.03385. In a bottleneck the convolution in the middle has
    the strides, as in most libraries; there the first has them.
    """

    spatial_dims: Size  #: number of spatial axes
    in_channels: Size  #: channels of the input
    out_channels: Size  #: channels of the output
    strides: Size = 1  #: steps of the convolution that makes the image smaller
    bottleneck: bool = False  #: sizes 1, 3, 1 with a quarter of the channels, else 3, 3
    channel_last: bool = False  #: whether channels are the last axis, else the second
    activation: Activation = jax.nn.relu  #: after each norm, the last after the sum
    momentum: Probability = 0.9  #: decay of the moving statistics
    epsilon: Positive = 1e-5  #: added to the variances
    axis_name: str | None = None  #: mapped axis of devices to average the moments over
    accum_dtype: DType | None = None  #: dtype of the statistics; None: that of x
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    kernel_initializer: Initializer | None = None  #: None: that of Conv

    def setup(self):
        require(
            not self.bottleneck or self.out_channels % 4 == 0,
            "a bottleneck needs out_channels that 4 divides",
        )
        inner = self.out_channels // 4
        ends = (self.in_channels, self.out_channels)
        # Channels of the input and the output, size of the kernel, strides.
        table = (
            (
                (ends[0], inner, 1, 1),
                (inner, inner, 3, self.strides),
                (inner, ends[1], 1, 1),
            )
            if self.bottleneck
            else ((*ends, 3, self.strides), (ends[1], ends[1], 3, 1))
        )
        conv = {
            "channel_last": self.channel_last,
            "use_bias": False,
            "precision": self.precision,
            "kernel_initializer": self.kernel_initializer,
        }
        norm = {
            "channel_last": self.channel_last,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "axis_name": self.axis_name,
            "accum_dtype": self.accum_dtype,
        }
        self.convs = [
            Conv(self.spatial_dims, a, b, k, s, (k - 1) // 2, **conv)
            for a, b, k, s in table
        ]
        self.norms = [BatchNorm(b, **norm) for _, b, _, _ in table]
        changes = self.strides > 1 or ends[0] != ends[1]
        self.shortcut = (
            Conv(self.spatial_dims, *ends, 1, self.strides, 0, **conv)
            if changes
            else None
        )
        self.shortcut_norm = BatchNorm(ends[1], **norm) if changes else None

    def forward(
        self,
        x: Float[
            "batch *spatial in_channels if channel_last else batch in_channels *spatial"
        ],
    ) -> Float["..."]:
        y = x
        last = len(self.convs) - 1
        for i, conv, norm in zip(range(last + 1), self.convs, self.norms, strict=True):
            y = norm(conv(y))
            if i < last:
                y = self.activation(y)
        if self.shortcut is not None and self.shortcut_norm is not None:
            x = self.shortcut_norm(self.shortcut(x))
        return self.activation(x + y)
