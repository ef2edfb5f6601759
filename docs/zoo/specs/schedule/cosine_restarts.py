import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import NonNegative, Positive, Schedule, Boundaries


class CosineRestarts(Schedule):
    """Cosine annealing that restarts at listed steps and is never below a floor.

    After the last restart a cycle is as long as the one before it. Peaks shrink by `decay`.

    Loshchilov & Hutter, 2017, arXiv:1608.03983, with a hard floor.
    """

    peak_value: float  #: value at the start of the first cycle
    restarts: Boundaries  #: steps at which a cycle begins, but the first
    floor: NonNegative = 0.0  #: least value
    decay: Positive = 1.0  #: factor of the peaks

    def value(self, step):
        starts = np.array([0, *self.restarts])
        lengths = np.diff(starts)
        lengths = np.append(lengths, lengths[-1])
        cycle = jnp.searchsorted(starts, step, side="right") - 1
        progress = (step - jnp.take(starts, cycle)) / jnp.take(lengths, cycle)
        peak = self.peak_value * self.decay**cycle
        cosine = 0.5 * peak * (1 + jnp.cos(np.pi * jnp.clip(progress, 0, 1)))
        return jnp.maximum(cosine, self.floor)
