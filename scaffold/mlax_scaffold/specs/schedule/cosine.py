import math

import jax.numpy as jnp

from mlax_scaffold.spec import Positive, Schedule, Size


class Cosine(Schedule):
    """Half a cosine from `init_value` to `alpha * init_value`, and constant from there.

    value(t) = init * ((1 - alpha) * ((1 + cos(pi * min(t / steps, 1))) / 2) ** exponent + alpha)

    Loshchilov & Hutter, 2017, arXiv:1608.03983. As cosine_decay_schedule of optax.
    """

    init_value: float  #: the value at step 0
    decay_steps: Size  #: number of steps until the last value
    alpha: float = 0.0  #: the last value, as a multiple of the first
    exponent: Positive = 1.0  #: exponent of the half cosine

    def value(self, step):
        progress = jnp.clip(step / self.decay_steps, 0.0, 1.0)
        cosine = (0.5 * (1.0 + jnp.cos(math.pi * progress))) ** self.exponent
        return self.init_value * ((1.0 - self.alpha) * cosine + self.alpha)
