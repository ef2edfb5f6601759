from mlax_scaffold.spec import Layer, Real, Size, max


class GlobalMaxPool(Layer, invariances=["permutable spatial"]):
    """Largest element over the spatial axes."""

    spatial_dims: Size  #: number of spatial axes
    channel_last: bool = False  #: whether an axis of channels follows the spatial axes
    keepdims: bool = False  #: whether the axes stay, with size 1

    def forward(
        self, x: Real["*batch *spatial channels if channel_last else *batch *spatial"]
    ) -> Real["..."]:
        first = -self.spatial_dims - (1 if self.channel_last else 0)
        axes = tuple(range(first, first + self.spatial_dims))
        return max(x, axis=axes, keepdims=self.keepdims)
