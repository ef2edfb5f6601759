import math

import jax.numpy as jnp

from mlax_scaffold.spec import Count, Literal, Schedule, Size, steps_since


class WarmupStableDecay(Schedule):
    """A line up to `peak_value`, which then stays for long, and a decay to `end_value`.

    The decay is end + (peak - end) * f(p), where p goes from 0 to 1 in `decay_steps`, and
    f(p) is 1 - p (linear), (1 + cos(pi * p)) / 2 (cosine), or 1 - sqrt(p) (sqrt).

    Hu et al., 2024, arXiv:2404.06395; 1 - sqrt from Hägele et al., 2024, arXiv:2405.18392.
    """

    peak_value: float  #: the value between warmup and decay
    warmup_steps: Count  #: number of steps of the line
    stable_steps: Count  #: number of steps at the peak value
    decay_steps: Size  #: number of steps of the decay
    init_value: float = 0.0  #: the value at step 0
    end_value: float = 0.0  #: the value after the decay
    decay_type: Literal["linear", "cosine", "sqrt"] = "linear"  #: form of the decay

    def value(self, step, step_number):
        rise = jnp.clip(step / max(self.warmup_steps, 1), 0.0, 1.0)
        warmup = self.init_value + (self.peak_value - self.init_value) * rise
        begin = self.warmup_steps + self.stable_steps
        since = steps_since(step_number, begin).astype(step.dtype)
        progress = jnp.clip(since / self.decay_steps, 0.0, 1.0)
        if self.decay_type == "linear":
            left = 1.0 - progress
        elif self.decay_type == "cosine":
            left = 0.5 * (1.0 + jnp.cos(math.pi * progress))
        else:
            left = 1.0 - jnp.sqrt(progress)
        decay = self.end_value + (self.peak_value - self.end_value) * left
        warms_up = steps_since(step_number, self.warmup_steps) < 0
        return jnp.where(warms_up, warmup, decay)
