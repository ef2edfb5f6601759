import math

import jax.numpy as jnp

from mlax_scaffold.spec import Schedule, Size


class Cosine(Schedule):
    """Half a cosine from `init_value` to `end_value`, and constant from there.

    value(t) = end + (init - end) * ((1 + cos(pi * min(t / steps, 1))) / 2) ** exponent

    Loshchilov & Hutter, 2017, arXiv:1608.03983. Deviation: cosine_decay_schedule of
    optax takes the ratio of the two values, `alpha`, in the place of `end_value`.
    """

    init_value: float  #: the value at step 0
    steps: Size  #: number of steps until the end value
    end_value: float = 0.0  #: the value from then on
    exponent: float = 1.0  #: exponent of the half cosine

    def value(self, step):
        progress = jnp.minimum(step / self.steps, 1.0)
        decay = (0.5 * (1.0 + jnp.cos(math.pi * progress))) ** self.exponent
        return self.end_value + (self.init_value - self.end_value) * decay
