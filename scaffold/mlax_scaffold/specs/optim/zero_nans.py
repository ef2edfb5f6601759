import jax.numpy as jnp

from mlax_scaffold.spec import Optimizer, moment, zeros


class ZeroNans(Optimizer):
    """Puts 0 in the place of what is not a number in gradients.

    It is in front of the optimizer of a Chain. ApplyIfFinite skips the step instead.
    """

    def setup(self, param):
        self.found = moment(zeros, (), jnp.bool_)  #: whether the last ones had any.

    def update(self, grad, param):
        wrong = jnp.isnan(grad)
        self.found = jnp.any(wrong)
        return jnp.where(wrong, 0.0, grad)
