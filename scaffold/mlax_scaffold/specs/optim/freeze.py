import jax.numpy as jnp

from mlax_scaffold.spec import Mask, Optimizer


class Freeze(Optimizer):
    """Sets the updates of the selected weights to zero.

    It is the last of a Chain, so that nothing is added to the frozen weights. Weights
    without state at all are those that Masked leaves out.
    """

    mask: Mask  #: the weights that stay as they are

    def update(self, grad, param):
        return jnp.zeros_like(grad) if self.mask else grad
