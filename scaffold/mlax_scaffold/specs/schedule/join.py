import jax.numpy as jnp

from mlax_scaffold.spec import Boundaries, Schedule, SubSchedule, require


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

    def value(self, step):
        value = jnp.asarray(self.schedules[0](step), step.dtype)
        for boundary, schedule in zip(self.boundaries, self.schedules[1:], strict=True):
            following = jnp.asarray(schedule(step - boundary), step.dtype)
            value = jnp.where(step < boundary, value, following)
        return value
