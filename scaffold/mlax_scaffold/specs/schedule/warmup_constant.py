import jax.numpy as jnp

from mlax_scaffold.spec import Schedule, Size


class WarmupConstant(Schedule):
    """A line from `init_value` to `peak_value`, and constant from there.

    value(t) = init + (peak - init) * min(t / warmup_steps, 1)

    As warmup_constant_schedule of optax.
    """

    init_value: float  #: the value at step 0
    peak_value: float  #: the value after the warmup
    warmup_steps: Size  #: number of steps until the peak value

    def value(self, step):
        progress = jnp.clip(step / self.warmup_steps, 0.0, 1.0)
        return self.init_value + (self.peak_value - self.init_value) * progress
