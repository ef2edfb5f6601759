import jax.numpy as jnp

from mlax_scaffold.spec import Count, Positive, Schedule, Size, steps_since


class Exponential(Schedule):
    """Multiplies by `decay_rate` in every `transition_steps` steps.

    value(t) = init * rate ** p, where p = max(t - begin, 0) / steps, rounded down where
    `staircase`; not beyond `end_value`, which is the least value where the rate is
    below 1, else the greatest.

    As exponential_decay of optax.
    """

    init_value: float  #: the value until the decay begins
    transition_steps: Size  #: number of steps in which the rate is applied once
    decay_rate: Positive  #: factor of the value
    transition_begin: Count = 0  #: number of steps before the decay
    staircase: bool = False  #: whether the exponent is rounded down
    end_value: float | None = None  #: bound of the value; None: there is none

    def value(self, step, step_number):
        begun = jnp.maximum(steps_since(step_number, self.transition_begin), 0)
        if self.staircase:
            power = (begun // self.transition_steps).astype(step.dtype)
        else:
            power = begun.astype(step.dtype) / self.transition_steps
        value = self.init_value * self.decay_rate**power
        if self.end_value is None:
            return value
        bound = jnp.maximum if self.decay_rate < 1.0 else jnp.minimum
        return bound(value, self.end_value)
