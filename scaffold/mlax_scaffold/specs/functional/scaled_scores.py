import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Axis,
    AxisName,
    Bool,
    Float,
    Positive,
    divide_by_scaled_root,
    function,
    mean,
    spread,
    spread_mean,
)


@function
def scaled_scores(
    x: Float["..."],
    scale: Float["..."],
    where: Bool["..."] | None = None,
    *,
    axis: Axis | None = None,  #: axes of the mean; None: all
    epsilon: Positive = 1e-5,  #: added to the mean square, not scaled
    axis_name: AxisName | None = None,  #: mapped axes that are averaged over as well
) -> Float["..."]:
    """(s x) / sqrt(mean((s x)^2) + epsilon), for a scale s; the mean is of `where`.

    In 16 bits the gradient is made of means, whose sums are in the range of float16.
    """
    axes = tuple(range(x.ndim)) if axis is None else axis
    if any(scale.shape[a] != 1 for a in axes):
        x, scale = x * spread(scale, x.shape), jnp.ones((1,) * x.ndim, x.dtype)

    def mean_square(x, where):
        square = lax.square(x)
        return mean(square, where, axis=axes, keepdims=True, axis_name=axis_name)

    def plain(x, scale, where):
        square = mean_square(x, where)
        return divide_by_scaled_root(x, square, scale, epsilon=epsilon)

    if jnp.finfo(x.dtype).bits > 16:
        return plain(x, scale, where)
    scores = jax.custom_jvp(plain)

    def tangent(primals, tangents):
        (x, scale, where), (change, of_scale, _) = primals, tangents
        y = scores(x, scale, where)
        square = mean_square(x, where)
        one = jnp.ones_like(square)
        root = divide_by_scaled_root(one, square, scale, epsilon=epsilon)
        moved = jnp.zeros_like(y)
        if not isinstance(change, jax.custom_derivatives.SymbolicZero):
            rest = y * spread_mean(y * change, axes, axis_name, where)
            moved = (change - rest) * spread(root, x.shape)
        if not isinstance(of_scale, jax.custom_derivatives.SymbolicZero):
            by_scale = jax.jvp(lambda s: plain(x, s, where), (scale,), (of_scale,))[1]
            moved = moved + by_scale
        return y, moved

    scores.defjvp(tangent, symbolic_zeros=True)
    return scores(x, scale, where)
