import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from mlax_scaffold.spec import Float, Layer, Literal, PerDim, Size, spread


def cubic(x):
    """Keys' convolution kernel with a = -0.5."""
    x = abs(x)
    if x < 1:
        return (1.5 * x - 2.5) * x * x + 1.0
    return ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0 if x < 2 else 0.0


def lanczos(x, reach):
    """A sinc, times one that is `reach` times as wide."""
    if x == 0 or abs(x) >= reach:
        return 1.0 if x == 0 else 0.0
    angle = math.pi * x
    return reach * math.sin(angle) * math.sin(angle / reach) / (angle * angle)


def resampled(x, axis, factor, method):
    """Elements between those of an axis, each a weighted mean of its neighbors."""
    reach = {"cubic": 2, "lanczos3": 3, "lanczos5": 5}[method]
    size = x.shape[axis]
    inside = np.pad(np.ones(size), reach)
    padded = [(0, 0, 0)] * x.ndim
    padded[axis] = (reach, reach, 0)
    neighbors = lax.pad(x, jnp.zeros((), x.dtype), padded)
    behind = range(1, x.ndim - axis)
    parts = []
    for i in range(factor):
        place = (i + 0.5) / factor - 0.5
        shares = {}
        for tap in range(-reach, reach + 1):
            distance = tap - place
            weight = cubic(distance) if reach == 2 else lanczos(distance, reach)
            start = reach + tap
            if weight != 0:
                shares[start] = weight * inside[start : start + size]
        # At the ends the weights of neighbors that are there are made to add up to one.
        total = np.sum(list(shares.values()), axis=0)
        terms = []
        for start, share in shares.items():
            weights = lax.expand_dims(jnp.asarray(share / total, x.dtype), behind)
            near = lax.slice_in_dim(neighbors, start, start + size, axis=axis)
            terms.append(near * spread(weights, near.shape))
        y = terms[0]
        for term in terms[1:]:
            y = y + term
        parts.append(y)
    shape = (*x.shape[:axis], size * factor, *x.shape[axis + 1 :])
    return jnp.stack(parts, axis + 1).reshape(shape)


class Upsample(Layer):
    """Makes spatial axes larger by whole factors, by repetition or interpolation.

    Elements are the centers of pixels: "linear" over two axes is bilinear interpolation,
    as of jax.image.resize, and of PyTorch without align_corners. "cubic" (Keys, 1981, IEEE
    Transactions on Acoustics, Speech, and Signal Processing 29(6), with a = -0.5) and
    "lanczos3" and "lanczos5" (Duchon, 1979, Journal of Applied Meteorology 18(8)) are those
    of jax.image.resize, too: at the ends, weights of what is not there are left out. PyTorch
    has a = -0.75, and repeats the ends.
    """

    spatial_dims: Size  #: number of spatial axes
    factor: PerDim[Size]  #: by which each spatial axis becomes larger
    #: how elements are found
    method: Literal["nearest", "linear", "cubic", "lanczos3", "lanczos5"] = "nearest"
    channel_last: bool = False  #: whether an axis of channels follows the spatial axes

    def forward(
        self, x: Float["*batch *spatial channels if channel_last else *batch *spatial"]
    ) -> Float["*batch *out_spatial channels if channel_last else *batch *out_spatial"]:
        first = x.ndim - self.spatial_dims - (1 if self.channel_last else 0)
        for axis, factor in enumerate(self.factor, first):
            if self.method == "nearest":
                shape = (*x.shape[: axis + 1], factor, *x.shape[axis + 1 :])
                repeated = spread(lax.expand_dims(x, (axis + 1,)), shape)
                repeated = jnp.broadcast_to(repeated, shape)
                x = lax.collapse(repeated, axis, axis + 2)
                continue
            if self.method != "linear":
                x = resampled(x, axis, factor, self.method)
                continue
            # The neighbors of each element; at the ends, the element itself.
            start = lax.slice_in_dim(x, 0, 1, axis=axis)
            end = lax.slice_in_dim(x, -1, None, axis=axis)
            before = jnp.concatenate(
                [start, lax.slice_in_dim(x, 0, -1, axis=axis)], axis
            )
            after = jnp.concatenate(
                [lax.slice_in_dim(x, 1, None, axis=axis), end], axis
            )
            parts = []
            for i in range(factor):
                place = (i + 0.5) / factor - 0.5
                other, weight = (before, -place) if place < 0 else (after, place)
                parts.append(x * (1 - weight) + other * weight)
            shape = (*x.shape[:axis], x.shape[axis] * factor, *x.shape[axis + 1 :])
            x = jnp.stack(parts, axis + 1).reshape(shape)
        return x
