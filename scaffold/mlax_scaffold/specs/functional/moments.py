from jax import lax

from mlax_scaffold.spec import Axis, AxisName, DType, Float, deviations, function


@function
def moments(
    x: Float["..."],
    *,
    axis: Axis | None = None,  #: axes of the moments; None: all
    keepdims: bool = False,  #: whether they stay, with size 1
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> tuple[Float["..."], Float["..."]]:
    """Mean and (biased) variance.

    In two passes: the variance is the mean of (x - mean)^2, which is never negative and
    does not cancel as the mean of squares less the square of the mean does.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    center, _, square, scale = deviations(wide, axis=axis, axis_name=axis_name)
    square = square * scale * scale
    if not keepdims:
        axes = tuple(range(x.ndim)) if axis is None else axis
        center, square = lax.squeeze(center, axes), lax.squeeze(square, axes)
    return center.astype(x.dtype), square.astype(x.dtype)
