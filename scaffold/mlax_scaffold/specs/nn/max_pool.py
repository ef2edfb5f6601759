# A function that is a constant is called as it is, and not bound to the layer.
# pyright: reportAttributeAccessIssue=false
from mlax_scaffold.spec import Layer, Padding, PerDim, Real, Size, max_pool


class MaxPool(Layer):
    """Largest element of each window of the spatial axes.

    Channels that are first are among the batch axes. Strides are 1 by default, as in
    flax and equinox (in PyTorch: the window). Where elements are equal,
    the gradient goes to one of them, or in parts to all.
    """

    spatial_dims: Size  #: number of spatial axes
    window: PerDim[Size]  #: size of the window
    strides: PerDim[Size] = 1  #: steps from window to window
    padding: Padding = "VALID"  #: of the input, with -inf or the smallest integer
    dilation: PerDim[Size] = 1  #: steps from element to element of the window
    ceil_mode: bool = False  #: whether a last window may end beyond the padding
    channel_last: bool = False  #: whether an axis of channels follows the spatial axes
    input_dilation: PerDim[Size] = 1  #: steps between elements of the input

    POOL = max_pool

    def forward(
        self, x: Real["*batch *spatial channels if channel_last else *batch *spatial"]
    ) -> Real["*batch *out_spatial channels if channel_last else *batch *out_spatial"]:
        return self.POOL(
            x,
            spatial_dims=self.spatial_dims,
            window=self.window,
            strides=self.strides,
            padding=self.padding,
            dilation=self.dilation,
            ceil_mode=self.ceil_mode,
            channel_last=self.channel_last,
            input_dilation=self.input_dilation,
        )
