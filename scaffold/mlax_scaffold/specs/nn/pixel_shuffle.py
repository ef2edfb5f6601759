import math

from mlax_scaffold.spec import Float, Layer, PerDim, Size, require


class PixelShuffle(Layer):
    """Moves channels into the spatial axes, which become `factor` times as large.

    Channel c prod(factor) + k becomes, in channel c, element k of each block: the blocks
    are in row-major order. With `channel_last` too, as PyTorch's first channels are
    (TensorFlow's depth_to_space has k before c).

    Shi et al., 2016, arXiv:1609.05158.
    """

    spatial_dims: Size  #: number of spatial axes
    factor: PerDim[Size]  #: by which each spatial axis becomes larger
    channel_last: bool = False  #: whether channels are the last axis

    def forward(
        self,
        x: Float[
            "*batch *spatial channels if channel_last else *batch channels *spatial"
        ],
    ) -> Float["*batch *out_spatial _ if channel_last else *batch _ *out_spatial"]:
        n = self.spatial_dims
        batch = x.shape[: x.ndim - n - 1]
        *size, channels = (
            x.shape[len(batch) :]
            if self.channel_last
            else (*x.shape[len(batch) + 1 :], x.shape[len(batch)])
        )
        require(
            channels % math.prod(self.factor) == 0,
            "the product of factor must divide the number of channels",
        )
        out = channels // math.prod(self.factor)
        larger = [s * f for s, f in zip(size, self.factor, strict=True)]
        # Axes after the batch: of channels, of factors, of space.
        first = len(batch) + (n if self.channel_last else 0)
        blocks = range(first + 1, first + 1 + n)
        space = range(len(batch) + (0 if self.channel_last else n + 1), x.ndim + n)
        pairs = [axis for pair in zip(space, blocks, strict=False) for axis in pair]
        if self.channel_last:
            y = x.reshape(*batch, *size, out, *self.factor)
            return y.transpose(*range(len(batch)), *pairs, first).reshape(
                *batch, *larger, out
            )
        y = x.reshape(*batch, out, *self.factor, *size)
        return y.transpose(*range(len(batch)), first, *pairs).reshape(
            *batch, out, *larger
        )
