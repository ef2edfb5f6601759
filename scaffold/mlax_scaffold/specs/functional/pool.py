import math

from jax import lax

from mlax_scaffold.spec import Float, Literal, Padding, PerDim, Size, function, require


@function
def pool(
    x: Float["..."],
    *,
    reduction: Literal["max", "min", "sum"],  #: what is made of a window
    spatial_dims: Size,  #: number of spatial axes
    window: PerDim[Size],  #: size of the window
    strides: PerDim[Size] = 1,  #: steps from window to window
    padding: Padding = "VALID",  #: of the input, with the identity of the reduction
    channel_last: bool = False,  #: whether an axis of channels follows the spatial axes
) -> Float["..."]:
    """Reduces windows of the spatial axes, which are the last axes or end before them.

    In the dtype of x. Any number of axes may stand before the spatial axes.
    """
    after = 1 if channel_last else 0
    require(
        x.ndim >= spatial_dims + after,
        "x must have spatial_dims axes, and with channel_last one of channels",
    )
    before = x.ndim - spatial_dims - after
    require(
        isinstance(padding, str)
        or all(max(pair) < size for pair, size in zip(padding, window, strict=True)),
        "padding must be smaller than the window",
    )
    reduce, identity = {
        "max": (lax.max, -math.inf),
        "min": (lax.min, math.inf),
        "sum": (lax.add, 0.0),
    }[reduction]
    if not isinstance(padding, str):
        padding = ((0, 0),) * before + padding + ((0, 0),) * after
    return lax.reduce_window(
        x,
        x.dtype.type(identity),
        reduce,
        (1,) * before + window + (1,) * after,
        (1,) * before + strides + (1,) * after,
        padding,
    )
