import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Optimizer, Positive, cast, sum


class ClipByGlobalNorm(Optimizer):
    """Scales all gradients by min(1, max_norm / norm), the norm over all of them.

    Pascanu et al., 2013, arXiv:1211.5063. The norm is computed in the default float
    dtype. The result is to be the gradients of the next optimizer of a Chain.
    """

    max_norm: Positive  #: the largest norm that gradients may have

    def prepare(self, grads, params):
        squares = jnp.zeros_like(self.step)
        for grad in jax.tree.leaves(cast(grads, dtype=self.step.dtype)):
            squares = squares + sum(lax.square(grad))
        self.factor = jnp.minimum(1.0, self.max_norm * lax.rsqrt(squares))

    def update(self, grad, param):
        return self.factor * grad
