import jax.numpy as jnp

from mlax_scaffold.spec import Mask, Optimizer


class KeepNonNegative(Optimizer):
    """Cuts updates that would make a weight negative: the weight becomes 0.

    It is the last of a Chain. Weights that are negative already become 0.
    """

    mask: Mask | None = None  #: the weights that stay at or above 0; None: all

    def update(self, grad, param):
        return jnp.where(param + grad < 0.0, -param, grad) if self.mask else grad
