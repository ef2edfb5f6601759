import math

import jax.numpy as jnp

from mlax_scaffold.spec import (
    Boundaries,
    Literal,
    NonNegative,
    Schedule,
    require,
    steps_since,
)


class PiecewiseInterpolated(Schedule):
    """Interpolates values at boundaries, each of which is a multiple of the one before.

    Between boundaries a and b, at which the values are u and v, with
    p = (t - a) / (b - a): u + (v - u) * p, or u + (v - u) * (1 - cos(pi * p)) / 2. The
    first boundary is 0, with `init_value`; after the last the value is constant.

    As piecewise_interpolate_schedule of optax, which takes boundaries and scales as a dict.
    """

    interpolate_type: Literal["linear", "cosine"]  #: form between boundaries
    init_value: float  #: the value at step 0
    boundaries: Boundaries  #: steps at which the value is scaled
    scales: tuple[NonNegative, ...]  #: factor at each boundary of the value before it

    def setup(self):
        require(
            len(self.boundaries) == len(self.scales),
            "there must be as many scales as boundaries",
        )

    def value(self, step, step_number):
        value = jnp.full_like(step, self.init_value)
        start, begin = self.init_value, 0
        for boundary, scale in zip(self.boundaries, self.scales, strict=True):
            end = start * scale
            since = steps_since(step_number, begin)
            progress = since.astype(step.dtype) / (boundary - begin)
            progress = jnp.clip(progress, 0.0, 1.0)
            if self.interpolate_type == "cosine":
                progress = 0.5 * (1.0 - jnp.cos(math.pi * progress))
            piece = start + (end - start) * progress
            value = jnp.where(since < 0, value, piece)
            start, begin = end, boundary
        return value
