import jax.numpy as jnp

from mlax_scaffold.spec import Count, Fraction, Schedule, Size


class Trapezoid(Schedule):
    """Linear warmup, a plateau, and a cooldown by 1 - sqrt.

    Hägele et al., 2024, Scaling Laws and Compute-Optimal Training Beyond Fixed Training
    Durations, arXiv:2405.18392.
    """

    peak_value: float  #: the value of the plateau
    total_steps: Size  #: number of steps
    warmup_steps: Count = 0  #: steps of the warmup
    cooldown: Fraction = 0.2  #: fraction of the steps in which it cools down

    def setup(self):
        if self.cooldown_start < self.warmup_steps:
            raise ValueError("the cooldown must not begin before the warmup ends")

    @property
    def cooldown_start(self) -> int:
        return self.total_steps - round(self.cooldown * self.total_steps)

    def value(self, step):
        warmup = jnp.minimum(1.0, step / max(self.warmup_steps, 1)) if self.warmup_steps else 1.0
        length = self.total_steps - self.cooldown_start
        progress = jnp.clip((step - self.cooldown_start) / length, 0.0, 1.0)
        return self.peak_value * warmup * (1 - jnp.sqrt(progress))
