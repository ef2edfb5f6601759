import math

import jax.numpy as jnp

from mlax_scaffold.spec import (
    AxisName,
    Bool,
    DType,
    Float,
    Positive,
    Size,
    function,
    require,
    standardize,
)


@function
def group_norm(
    x: Float["batch *spatial channels if channel_last else batch channels *spatial"],
    where: Bool[
        "# batch *spatial channels if channel_last else # batch channels *spatial"
    ]
    | None = None,
    *,
    groups: Size,  #: number of groups; divides the number of channels
    channel_last: bool = False,  #: whether channels are the last axis, else the second
    epsilon: Positive = 1e-5,  #: added to the variance
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["batch *spatial channels if channel_last else batch channels *spatial"]:
    """Normalizes groups of channels of each example, with the spatial axes.

    x is (batch, channels, *spatial), or (batch, *spatial, channels).
    Wu & He, 2018, arXiv:1803.08494, without the affine map. Mean and variance are of what
    `where` selects.
    """
    batch, channels = x.shape[0], x.shape[-1 if channel_last else 1]
    require(channels % groups == 0, "groups must divide the number of channels")
    size = math.prod(x.shape[1:])
    if channel_last:
        shape, axis = (size // channels, groups, channels // groups), (1, 3)
    else:
        shape, axis = (groups, size // groups), (2,)
    grouped = x.reshape(batch, *shape)
    if where is not None:
        where = jnp.broadcast_to(where, x.shape).reshape(grouped.shape)
    y = standardize(
        grouped,
        where,
        axis=axis,
        epsilon=epsilon,
        axis_name=axis_name,
        accum_dtype=accum_dtype,
    )
    return y.reshape(x.shape)
