"""Weights of recurrent cells."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from .._core import checks
from .._core.arrays import Initializer
from .._core.static import static
from ._dtypes import float_dtype, inexact_dtype


@static
class per_gate:  # noqa: N801
    """Each of `gates` equal parts of an axis by itself, with a key of its own.

    The kernels of a recurrent cell's gates lie beside each other in one array:
    `per_gate(orthogonal(), 4)` makes each of an LSTM's orthogonal, where `orthogonal()`
    would make them so together.
    """

    initializer: Initializer
    gates: int
    axis: int = -1

    def __post_init__(self) -> None:
        checks.function("per_gate", initializer=self.initializer)
        object.__setattr__(self, "gates", checks.size("per_gate", gates=self.gates))
        object.__setattr__(self, "axis", checks.integer("per_gate", axis=self.axis))

    def __call__(
        self, key: jax.Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> jax.Array:
        """An array of that shape, whose axis `gates` divides."""
        if not -len(shape) <= self.axis < len(shape) or shape[self.axis] % self.gates:
            raise ValueError(
                f"per_gate: shape must have an axis {self.axis} that {self.gates} divides, "
                f"got {tuple(shape)}"
            )
        part = list(shape)
        part[self.axis] //= self.gates
        dtype = inexact_dtype("per_gate", dtype)
        parts = [
            self.initializer(k, tuple(part), dtype)
            for k in jax.random.split(key, self.gates)
        ]
        return jnp.concatenate(parts, self.axis)


@static
class ring_radii:  # noqa: N801
    """log(-log(r)) of the radii r of points that lie uniformly in a ring.

    The eigenvalues of a linear recurrent unit are so at first (Orvieto et al., 2023,
    arXiv:2303.06349). Half precision is drawn in float32 and cast.
    """

    min_radius: float = 0.0
    max_radius: float = 1.0

    def __post_init__(self) -> None:
        for name in ("min_radius", "max_radius"):
            value = checks.probability("ring_radii", **{name: getattr(self, name)})
            object.__setattr__(self, name, value)
        if self.min_radius >= self.max_radius:
            raise ValueError(
                "ring_radii: min_radius must be below max_radius, "
                f"got min_radius={self.min_radius}, max_radius={self.max_radius}"
            )

    def __call__(
        self, key: jax.Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> jax.Array:
        """An array of that shape."""
        dtype = float_dtype("ring_radii", dtype)
        computed = dtype if dtype.itemsize >= 4 else jnp.float32
        # Neither a radius of 0 nor one of 1 has such a logarithm.
        tiny = float(jnp.finfo(computed).eps)
        low = max(self.min_radius**2, tiny)
        high = min(self.max_radius**2, 1.0 - tiny)
        square = jax.random.uniform(key, tuple(shape), computed, low, high)
        return jnp.log(-0.5 * jnp.log(square)).astype(dtype)


@static
class ring_phases:  # noqa: N801
    """log(angle) of angles that are uniform between 0 and `max_phase`.

    Half precision is drawn in float32 and cast (arXiv:2303.06349).
    """

    max_phase: float = 6.28

    def __post_init__(self) -> None:
        max_phase = checks.positive("ring_phases", max_phase=self.max_phase)
        object.__setattr__(self, "max_phase", max_phase)

    def __call__(
        self, key: jax.Array, shape: Sequence[int], dtype: DTypeLike | None = None
    ) -> jax.Array:
        """An array of that shape."""
        dtype = float_dtype("ring_phases", dtype)
        computed = dtype if dtype.itemsize >= 4 else jnp.float32
        # Zero has no logarithm.
        tiny = float(jnp.finfo(computed).eps)
        angle = jax.random.uniform(key, tuple(shape), computed, tiny, 1.0)
        return jnp.log(self.max_phase * angle).astype(dtype)
