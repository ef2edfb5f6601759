import jax.numpy as jnp

from mlax_scaffold.spec import Schedule, Size


class InverseSqrt(Schedule):
    """A line from `init_value` to `peak_value`, and a decay with the root of the step.

    value(t) = init + (peak - init) * t / warmup for t < warmup, else
    peak * sqrt(warmup / t).

    Vaswani et al., 2017, arXiv:1706.03762, where the peak is 1 / sqrt(features * warmup).
    """

    peak_value: float  #: the value after the warmup
    warmup_steps: Size  #: number of steps of the line
    init_value: float = 0.0  #: the value at step 0

    def value(self, step):
        progress = step / self.warmup_steps
        warmup = self.init_value + (self.peak_value - self.init_value) * progress
        decay = self.peak_value / jnp.sqrt(jnp.maximum(progress, 1.0))
        return jnp.where(progress < 1.0, warmup, decay)
