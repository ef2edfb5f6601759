from mlax_scaffold.spec import Layer, PerDim, Real, Size, adaptive_pool


class AdaptiveMaxPool(Layer):
    """Largest elements of so many windows of the spatial axes.

    Where the windows cannot be equally large, the first ones have an element more, as in
    equinox. Deviation from PyTorch: windows do not overlap.
    """

    spatial_dims: Size  #: number of spatial axes
    output_size: PerDim[Size]  #: number of windows along each axis
    channel_last: bool = False  #: whether an axis of channels follows the spatial axes

    def forward(
        self, x: Real["*batch *spatial channels if channel_last else *batch *spatial"]
    ) -> Real["*batch *output_size channels if channel_last else *batch *output_size"]:
        return adaptive_pool(
            x,
            reduction="max",
            spatial_dims=self.spatial_dims,
            output_size=self.output_size,
            channel_last=self.channel_last,
        )
