import jax.numpy as jnp

from mlax_scaffold.spec import Count, Positive, Schedule, Size, steps_since


class Polynomial(Schedule):
    """A power of the remaining steps, from `init_value` to `end_value`.

    value(t) = end + (init - end) * (1 - s / steps) ** power, where
    s = min(max(t - begin, 0), steps).

    As polynomial_schedule of optax.
    """

    init_value: float  #: the value until the transition begins
    end_value: float  #: the value after the transition
    power: Positive  #: exponent of what is left of the transition
    transition_steps: Size  #: number of steps of the transition
    transition_begin: Count = 0  #: number of steps before the transition

    def value(self, step, step_number):
        begun = steps_since(step_number, self.transition_begin).astype(step.dtype)
        progress = begun / self.transition_steps
        left = (1.0 - jnp.clip(progress, 0.0, 1.0)) ** self.power
        return self.end_value + (self.init_value - self.end_value) * left
