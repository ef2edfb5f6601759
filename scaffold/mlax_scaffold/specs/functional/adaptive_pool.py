import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Literal,
    PerDim,
    Real,
    Size,
    function,
    max,
    mean,
    require,
)


def windows_of(x, axis, count):
    """Windows of a size that is a symbol, all as long as the largest, and what is theirs."""
    length, larger = divmod(x.shape[axis], count)
    place = lax.iota(jnp.int32, count)
    begin = place * length + jnp.minimum(place, larger)
    offset = lax.iota(jnp.int32, length + 1)
    own = offset < (length + (place < larger))[:, None]
    windows = jnp.take(x, begin[:, None] + offset, axis, mode="clip")
    return windows, lax.expand_dims(own, range(2, 1 + x.ndim - axis))


@function
def adaptive_pool(
    x: Real["*batch *spatial channels if channel_last else *batch *spatial"],
    *,
    reduction: Literal["avg", "max"],  #: what is made of a window
    spatial_dims: Size,  #: number of spatial axes
    output_size: PerDim[Size],  #: number of windows along each axis
    channel_last: bool = False,  #: whether an axis of channels follows the spatial axes
    accum_dtype: DType | None = None,  #: dtype of the means; None: that of x
) -> Real["*batch *output_size channels if channel_last else *batch *output_size"]:
    """Divides each spatial axis into windows, and reduces each of them.

    Where the windows cannot be equally large, the first ones have an element more, as in
    equinox. Deviation from PyTorch: windows do not overlap. Of more windows than elements,
    equally many are of each element.
    """
    require(
        reduction == "max" or jnp.issubdtype(x.dtype, jnp.floating),
        "means are of floating numbers: cast integers first, as in x.astype(jnp.float32)",
    )
    before = x.ndim - spatial_dims - (1 if channel_last else 0)
    size = x.shape[before : before + spatial_dims]
    require(
        all(
            n >= windows or windows % n == 0
            for n, windows in zip(size, output_size, strict=True)
        ),
        "output_size must not be larger than the input, or be a multiple of it",
    )
    for axis, windows in enumerate(output_size, before):
        if windows > x.shape[axis]:
            x = jnp.repeat(x, windows // x.shape[axis], axis)
            continue
        length, larger = divmod(x.shape[axis], windows)
        if not isinstance(larger, int):
            parts, own = windows_of(x, axis, windows)
            if reduction == "avg":
                x = mean(parts, own, axis=axis + 1, accum_dtype=accum_dtype)
            else:
                x = max(parts, own, axis=axis + 1)
            continue
        halves = jnp.split(x, [larger * (length + 1)], axis)
        reduced = []
        for part, n in zip(halves, (length + 1, length), strict=True):
            shape = (*x.shape[:axis], part.shape[axis] // n, n, *x.shape[axis + 1 :])
            if reduction == "avg":
                y = mean(part.reshape(shape), axis=axis + 1, accum_dtype=accum_dtype)
            else:
                y = max(part.reshape(shape), axis=axis + 1)
            reduced.append(y)
        x = jnp.concatenate(reduced, axis)
    return x
