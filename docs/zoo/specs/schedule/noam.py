import jax.numpy as jnp

from mlax_scaffold.spec import Positive, Schedule, Size


class Noam(Schedule):
    """factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5), steps counted from 1

    Vaswani et al., 2017, Attention Is All You Need, arXiv:1706.03762, section 5.3.
    """

    d_model: Size  #: width of the model
    warmup_steps: Size = 4000  #: steps of the warmup
    factor: Positive = 1.0

    def value(self, step):
        step = step + 1
        return self.factor * self.d_model**-0.5 * jnp.minimum(
            step**-0.5, step * self.warmup_steps**-1.5
        )
