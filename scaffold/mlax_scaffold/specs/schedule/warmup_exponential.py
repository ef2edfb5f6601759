import jax.numpy as jnp

from mlax_scaffold.spec import Count, Positive, Schedule, Size, steps_since
from mlax_scaffold.specs.schedule.exponential import Exponential


class WarmupExponential(Schedule):
    """A line from `init_value` to `peak_value`, and an exponential decay from there.

    After `warmup_steps` it is an Exponential of the steps since then.

    As warmup_exponential_decay_schedule of optax.
    """

    init_value: float  #: the value at step 0
    peak_value: float  #: the value after the warmup
    warmup_steps: Count  #: number of steps of the line
    transition_steps: Size  #: number of steps in which the rate is applied once
    decay_rate: Positive  #: factor of the value
    transition_begin: Count = 0  #: number of steps between warmup and decay
    staircase: bool = False  #: whether the exponent is rounded down
    end_value: float | None = None  #: bound of the value; None: there is none

    def value(self, step, step_number):
        rise = step / max(self.warmup_steps, 1)
        warmup = self.init_value + (self.peak_value - self.init_value) * rise
        decay = Exponential(
            self.peak_value,
            self.transition_steps,
            self.decay_rate,
            self.transition_begin,
            self.staircase,
            self.end_value,
        )
        since = steps_since(step_number, self.warmup_steps)
        return jnp.where(since < 0, warmup, decay(since))
