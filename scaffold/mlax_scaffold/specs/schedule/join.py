import jax.numpy as jnp

from mlax_scaffold.spec import (
    Boundaries,
    Schedule,
    SubSchedule,
    at_step,
    require,
    steps_since,
)


class Join(Schedule):
    """Schedules one after another, each of which counts its own steps from 0.

    value(t) = schedules[i](t - boundaries[i - 1]) for the last boundary that t has reached.

    As join_schedules of optax.
    """

    schedules: tuple[SubSchedule, ...]  #: one more than there are boundaries
    boundaries: Boundaries  #: steps at which the next schedule begins

    def setup(self):
        require(
            len(self.schedules) == len(self.boundaries) + 1,
            "there must be one more schedule than boundaries",
        )

    def value(self, step, step_number):
        value = jnp.asarray(at_step(self.schedules[0], step_number), step.dtype)
        for boundary, schedule in zip(self.boundaries, self.schedules[1:], strict=True):
            since = steps_since(step_number, boundary)
            following = jnp.asarray(at_step(schedule, since), step.dtype)
            value = jnp.where(since < 0, value, following)
        return value
