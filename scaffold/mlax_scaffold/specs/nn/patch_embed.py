import math

import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float,
    Layer,
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


class PatchEmbed(Layer):
    """Maps each patch of an image to features: tokens, in row-major order.

    The kernel is (features, in_channels, *patch_size), and with `channel_last`
    (features, *patch_size, in_channels).

    Dosovitskiy et al., 2020, arXiv:2010.11929.
    """

    spatial_dims: Size  #: number of spatial axes
    in_channels: Size  #: channels of the image
    features: Size  #: features of a token
    patch_size: PerDim[Size]  #: size of a patch
    channel_last: bool = False  #: whether channels of the image are the last axis
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        shape = (
            (self.features, *self.patch_size, self.in_channels)
            if self.channel_last
            else (self.features, self.in_channels, *self.patch_size)
        )
        in_axis = -1 if self.channel_last else 1
        self.kernel = trainable(lecun_normal(in_axis=in_axis, out_axis=0), shape)
        self.bias = trainable(zeros, (self.features,)) if self.use_bias else None

    def forward(
        self,
        x: Float[
            "*batch *spatial in_channels if channel_last else *batch in_channels *spatial"
        ],
    ) -> Float["*batch _ features"]:
        last = x.ndim - (1 if self.channel_last else 0)
        size = x.shape[last - self.spatial_dims : last]
        require(
            all(n % patch == 0 for n, patch in zip(size, self.patch_size, strict=True)),
            "patch_size must divide the size of the image",
        )
        y = conv(
            x,
            self.kernel,
            spatial_dims=self.spatial_dims,
            strides=self.patch_size,
            padding="VALID",
            channel_last=self.channel_last,
            precision=self.precision,
        )
        batch = x.shape[: x.ndim - self.spatial_dims - 1]
        tokens = math.prod(size) // math.prod(self.patch_size)
        if self.channel_last:
            y = y.reshape(*batch, tokens, self.features)
        else:
            y = jnp.matrix_transpose(y.reshape(*batch, self.features, tokens))
        return y if self.bias is None else y + spread(self.bias, y.shape)
