import jax.numpy as jnp

from mlax_scaffold.spec import Boundaries, NonNegative, Schedule, require, steps_since


class PiecewiseConstant(Schedule):
    """A constant that is multiplied by a scale at each boundary.

    value(t) = init * product of scales[i] for all i with boundaries[i] <= t

    As piecewise_constant_schedule of optax, which takes boundaries and scales as a dict.
    """

    init_value: float  #: the value before the first boundary
    boundaries: Boundaries  #: steps at which the value is scaled
    scales: tuple[NonNegative, ...]  #: factor at each boundary

    def setup(self):
        require(
            len(self.boundaries) == len(self.scales),
            "there must be as many scales as boundaries",
        )

    def value(self, step, step_number):
        value = jnp.full_like(step, self.init_value)
        for boundary, scale in zip(self.boundaries, self.scales, strict=True):
            since = steps_since(step_number, boundary)
            value = jnp.where(since < 0, value, scale * value)
        return value
