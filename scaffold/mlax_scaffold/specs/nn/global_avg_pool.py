from mlax_scaffold.spec import DType, Float, Layer, Size, mean


class GlobalAvgPool(Layer, invariances=["permutable spatial"]):
    """Mean over the spatial axes."""

    spatial_dims: Size  #: number of spatial axes
    channel_last: bool = False  #: whether an axis of channels follows the spatial axes
    keepdims: bool = False  #: whether the axes stay, with size 1
    accum_dtype: DType | None = None  #: dtype of the mean; None: that of x

    def forward(
        self, x: Float["*batch *spatial channels if channel_last else *batch *spatial"]
    ) -> Float["..."]:
        first = -self.spatial_dims - (1 if self.channel_last else 0)
        axes = tuple(range(first, first + self.spatial_dims))
        return mean(x, axis=axes, keepdims=self.keepdims, accum_dtype=self.accum_dtype)
