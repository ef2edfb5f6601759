"""Orthogonal matrices and convolutions."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from .._core import checks
from .._core.static import static
from ._dtypes import inexact_dtype


@static
class identity:  # noqa: N801
    """The identity matrix, times `scale` (Le et al., 2015, arXiv:1504.00941)."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checks.number("identity", scale=self.scale))

    def __call__(
        self,
        key: jax.Array | None,
        shape: Sequence[int],
        dtype: DTypeLike | None = None,
    ) -> jax.Array:
        """A matrix of that shape; the key may be None."""
        if len(shape) != 2:
            raise ValueError(f"identity: shape must have two axes, got {tuple(shape)}")
        return self.scale * jnp.eye(*shape, dtype=inexact_dtype("identity", dtype))


@static
class orthogonal:  # noqa: N801
    """A matrix with orthonormal columns, or rows where there are fewer of them, times `scale`.

    Uniform among such matrices (Saxe et al., 2014, arXiv:1312.6120). A tensor is a matrix
    whose columns are on `column_axis`. There is no decomposition in half precision, so the
    matrix is made in float32 and cast; those of `jax.nn.initializers` fail there.
    """

    scale: float = 1.0
    column_axis: int = -1

    def __post_init__(self) -> None:
        scale = checks.number("orthogonal", scale=self.scale)
        column_axis = checks.integer("orthogonal", column_axis=self.column_axis)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "column_axis", column_axis)

    def __call__(
        self, key: jax.Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> jax.Array:
        """An array of that shape, of at least two axes."""
        dtype = inexact_dtype("orthogonal", dtype)
        if len(shape) < 2 or not -len(shape) <= self.column_axis < len(shape):
            raise ValueError(
                "orthogonal: shape must have at least two axes, and column_axis="
                f"{self.column_axis} among them, got {tuple(shape)}"
            )
        computed = dtype if dtype.itemsize >= 4 else jnp.float32
        initialize = jax.nn.initializers.orthogonal(self.scale, self.column_axis)
        return initialize(key, tuple(shape), computed).astype(dtype)


@static
class delta_orthogonal:  # noqa: N801
    """A convolution that maps each place orthogonally to itself, times `scale`.

    The kernel is zero but at its centre (Xiao et al., 2018, arXiv:1806.05393). Its layout is
    that of `Conv`: `(out, in, *spatial)`, or `(out, *spatial, in)` where `channel_last`.
    """

    scale: float = 1.0
    channel_last: bool = False

    def __post_init__(self) -> None:
        scale = checks.number("delta_orthogonal", scale=self.scale)
        channel_last = checks.boolean(
            "delta_orthogonal", channel_last=self.channel_last
        )
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "channel_last", channel_last)

    def __call__(
        self, key: jax.Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> jax.Array:
        """An array of that shape, of at least three axes, with no fewer outputs than inputs."""
        in_axis = len(shape) - 1 if self.channel_last else 1
        if len(shape) < 3 or shape[0] < shape[in_axis]:
            raise ValueError(
                "delta_orthogonal: shape must be that of a kernel with no fewer outputs "
                f"than inputs, got {tuple(shape)} with channel_last={self.channel_last}"
            )
        matrix = orthogonal(self.scale)(key, (shape[0], shape[in_axis]), dtype)
        centre = tuple(
            slice(None) if axis in (0, in_axis) else (size - 1) // 2
            for axis, size in enumerate(shape)
        )
        return jnp.zeros(tuple(shape), matrix.dtype).at[centre].set(matrix)
