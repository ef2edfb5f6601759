from jax import lax

from mlax_scaffold.spec import (
    Axis,
    AxisName,
    DType,
    Float,
    Positive,
    divide_by_scaled_root,
    function,
    mean,
    range_scale,
)


@function
def rms_norm(
    x: Float["..."],
    *,
    axis: Axis = -1,  #: axes that are normalized together
    epsilon: Positive = 1e-6,  #: added to the mean square
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of x
) -> Float["..."]:
    """Divides by the root mean square: x / sqrt(mean(x^2) + epsilon).

    Zhang & Sennrich, 2019, arXiv:1910.07467, without the gain.
    """
    wide = x if accum_dtype is None else x.astype(accum_dtype)
    scale = range_scale(
        wide, axis=axis, axis_name=axis_name, at_least=0.5 * epsilon**0.5
    )
    wide = wide / scale
    square = mean(lax.square(wide), axis=axis, keepdims=True)
    square = square if axis_name is None else lax.pmean(square, axis_name)
    return divide_by_scaled_root(wide, square, scale, epsilon=epsilon).astype(x.dtype)
