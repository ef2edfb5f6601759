import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Padding, PerDim, Size, function, sum_pool


@function
def avg_pool(
    x: Float["..."],
    *,
    spatial_dims: Size,  #: number of spatial axes
    window: PerDim[Size],  #: size of the window
    strides: PerDim[Size] = 1,  #: steps from window to window
    padding: Padding = "VALID",  #: of the input, with zeros
    channel_last: bool = False,  #: whether an axis of channels follows the spatial axes
    count_include_pad: bool = True,  #: whether padding counts as elements
) -> Float["..."]:
    """Mean of each window of the spatial axes, see `pool`."""
    total = sum_pool(
        x,
        spatial_dims=spatial_dims,
        window=window,
        strides=strides,
        padding=padding,
        channel_last=channel_last,
    )
    if count_include_pad:
        return total / math.prod(window)
    # Integers: 16 bits of floating point do not count far.
    before = x.ndim - spatial_dims - (1 if channel_last else 0)
    inside = jnp.ones(x.shape[before : before + spatial_dims], jnp.int32)
    elements = lax.reduce_window(inside, 0, lax.add, window, strides, padding)
    new_axes = [*range(before), *range(before + spatial_dims, x.ndim)]
    return total / lax.expand_dims(elements, new_axes).astype(x.dtype)
