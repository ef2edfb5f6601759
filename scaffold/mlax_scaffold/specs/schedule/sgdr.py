import jax.numpy as jnp

from mlax_scaffold.spec import Count, Positive, Schedule, Sizes, require, steps_since
from mlax_scaffold.specs.schedule.warmup_cosine import WarmupCosine


class SGDR(Schedule):
    """Cosines one after another, each with a warm restart: a short line up to its peak.

    Cycle i is a WarmupCosine of `decay_steps[i]` steps to `peak_values[i]`. After the last
    one the value stays at `end_value`.

    Loshchilov & Hutter, 2017, arXiv:1608.03983. As sgdr_schedule of optax, where the other
    values differ from cycle to cycle too: Join WarmupCosines for that.
    """

    peak_values: tuple[float, ...]  #: the greatest value of each cycle
    decay_steps: Sizes  #: number of steps of each cycle, its warmup included
    warmup_steps: Count = 0  #: number of steps of the line in each cycle
    init_value: float = 0.0  #: the value at the start of each line
    end_value: float = 0.0  #: the value at the end of each cosine
    exponent: Positive = 1.0  #: exponent of the half cosine

    def setup(self):
        require(
            len(self.peak_values) == len(self.decay_steps) > 0,
            "there must be as many peak values as decay steps, and at least one",
        )
        require(
            self.warmup_steps < min(self.decay_steps),
            "each of decay_steps must be above warmup_steps, which it includes",
        )

    def value(self, step, step_number):
        value, begin = jnp.full_like(step, self.init_value), 0
        for peak, steps in zip(self.peak_values, self.decay_steps, strict=True):
            cycle = WarmupCosine(
                self.init_value,
                peak,
                self.warmup_steps,
                steps,
                self.end_value,
                self.exponent,
            )
            since = steps_since(step_number, begin)
            value = jnp.where(since < 0, value, cycle(since))
            begin += steps
        return value
