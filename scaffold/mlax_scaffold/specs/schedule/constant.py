import jax.numpy as jnp

from mlax_scaffold.spec import Schedule


class Constant(Schedule):
    """The same value at every step."""

    constant: float  #: the value

    def value(self, step):
        return jnp.full_like(step, self.constant)
