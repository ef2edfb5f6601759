import math

import jax.numpy as jnp

from mlax_scaffold.spec import Count, Positive, Schedule, Size, require, steps_since


class WarmupCosine(Schedule):
    """A line from `init_value` to `peak_value`, and half a cosine to `end_value`.

    The line takes `warmup_steps`, both together `decay_steps`. The cosine is
    end + (peak - end) * ((1 + cos(pi * p)) / 2) ** exponent, where p goes from 0 to 1.

    As warmup_cosine_decay_schedule of optax; a peak of 0 is no exception here.
    """

    init_value: float  #: the value at step 0
    peak_value: float  #: the value after the warmup
    warmup_steps: Count  #: number of steps of the line
    decay_steps: Size  #: number of steps of the whole, the warmup included
    end_value: float = 0.0  #: the value from `decay_steps` on
    exponent: Positive = 1.0  #: exponent of the half cosine

    def setup(self):
        require(
            self.warmup_steps < self.decay_steps,
            "decay_steps must be above warmup_steps, which it includes",
        )

    def value(self, step, step_number):
        rise = step / max(self.warmup_steps, 1)
        warmup = self.init_value + (self.peak_value - self.init_value) * rise
        since = steps_since(step_number, self.warmup_steps)
        progress = since.astype(step.dtype) / (self.decay_steps - self.warmup_steps)
        angle = math.pi * jnp.clip(progress, 0.0, 1.0)
        cosine = (0.5 * (1.0 + jnp.cos(angle))) ** self.exponent
        decay = self.end_value + (self.peak_value - self.end_value) * cosine
        return jnp.where(since < 0, warmup, decay)
