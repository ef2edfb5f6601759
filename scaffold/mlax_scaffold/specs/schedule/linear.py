import jax.numpy as jnp

from mlax_scaffold.spec import Count, Schedule, Size, steps_since


class Linear(Schedule):
    """A line from `init_value` to `end_value`, and constant before and after it.

    value(t) = init + (end - init) * min(max(t - begin, 0) / steps, 1)

    As linear_schedule of optax.
    """

    init_value: float  #: the value until the transition begins
    end_value: float  #: the value after the transition
    transition_steps: Size  #: number of steps of the transition
    transition_begin: Count = 0  #: number of steps before the transition

    def value(self, step, step_number):
        begun = steps_since(step_number, self.transition_begin).astype(step.dtype)
        progress = begun / self.transition_steps
        progress = jnp.clip(progress, 0.0, 1.0)
        return self.init_value + (self.end_value - self.init_value) * progress
