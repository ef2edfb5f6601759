"""Numbers whose variance depends on how many are added up."""

from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from .._core import checks
from .._core.static import static
from ._dtypes import inexact_dtype


@static
class variance_scaling:  # noqa: N801
    """Numbers whose variance is `scale / fan`, so that activations keep their size.

    The fan is the number of inputs of an output, of outputs of an input, or their mean.
    `in_axis` and `out_axis` say where a kernel has them, `batch_axis` what is neither; all
    other axes are those of a receptive field. As `jax.nn.initializers.variance_scaling`.
    """

    scale: float
    mode: Literal["fan_in", "fan_out", "fan_avg"] = "fan_in"
    distribution: Literal["truncated_normal", "normal", "uniform"] = "truncated_normal"
    in_axis: int | Sequence[int] = -2
    out_axis: int | Sequence[int] = -1
    batch_axis: int | Sequence[int] = ()

    def __post_init__(self) -> None:
        owner = "variance_scaling"
        modes = ("fan_in", "fan_out", "fan_avg")
        distributions = ("truncated_normal", "normal", "uniform")
        values = {
            "scale": checks.positive(owner, scale=self.scale),
            "mode": checks.choice(owner, modes, mode=self.mode),
            "distribution": checks.choice(
                owner, distributions, distribution=self.distribution
            ),
            "in_axis": checks.axes(owner, in_axis=self.in_axis),
            "out_axis": checks.axes(owner, out_axis=self.out_axis),
            "batch_axis": checks.axes(owner, batch_axis=self.batch_axis),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __call__(
        self, key: jax.Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> jax.Array:
        """An array of that shape, which has the axes that the fans are computed from."""
        given = (self.in_axis, self.out_axis, self.batch_axis)
        named = [
            a for axes in given for a in checks.axes("variance_scaling", axis=axes)
        ]
        if not all(-len(shape) <= axis < len(shape) for axis in named):
            raise ValueError(
                f"variance_scaling: shape must have in_axis={self.in_axis}, "
                f"out_axis={self.out_axis} and batch_axis={self.batch_axis}, "
                f"got {tuple(shape)}"
            )
        if 0 in shape:
            return jnp.zeros(tuple(shape), inexact_dtype("variance_scaling", dtype))
        initialize = jax.nn.initializers.variance_scaling(
            self.scale,
            self.mode,
            self.distribution,
            self.in_axis,
            self.out_axis,
            self.batch_axis,
        )
        return initialize(key, tuple(shape), inexact_dtype("variance_scaling", dtype))


def lecun_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
) -> variance_scaling:
    """Truncated normal numbers of variance 1 / fan_in (LeCun et al., 1998)."""
    return variance_scaling(
        1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis
    )


def lecun_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
) -> variance_scaling:
    """Uniform numbers of variance 1 / fan_in (LeCun et al., 1998)."""
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis)


def glorot_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
) -> variance_scaling:
    """Truncated normal numbers of variance 2 / (fan_in + fan_out) (Glorot & Bengio, 2010)."""
    return variance_scaling(
        1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis
    )


def glorot_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
) -> variance_scaling:
    """Uniform numbers of variance 2 / (fan_in + fan_out) (Glorot & Bengio, 2010)."""
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis)


def he_normal(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
) -> variance_scaling:
    """Truncated normal numbers of variance 2 / fan_in (He et al., 2015, arXiv:1502.01852)."""
    return variance_scaling(
        2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis
    )


def he_uniform(
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
) -> variance_scaling:
    """Uniform numbers of variance 2 / fan_in (He et al., 2015, arXiv:1502.01852)."""
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis)
