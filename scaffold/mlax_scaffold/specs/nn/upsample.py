import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Layer, Literal, PerDim, Size, spread


class Upsample(Layer):
    """Makes spatial axes larger by whole factors, by repetition or interpolation.

    Elements are the centers of pixels: "linear" over two axes is bilinear interpolation,
    as of jax.image.resize, and of PyTorch without align_corners.
    """

    spatial_dims: Size  #: number of spatial axes
    factor: PerDim[Size]  #: by which each spatial axis becomes larger
    method: Literal["nearest", "linear"] = "nearest"  #: how elements are found
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
