import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import DType, Optimizer, Positive, sum


class ClipByGlobalNorm(Optimizer):
    """Scales all gradients by min(1, max_norm / norm), the norm over all of them.

    Pascanu et al., 2013, arXiv:1211.5063. The squares of a gradient are added up in its
    dtype, those sums in the default float dtype. In float16 the squares of large
    gradients are infinite: give an accum_dtype. The result is to be the gradients of
    the next optimizer of a Chain.
    """

    max_norm: Positive  #: the largest norm that gradients may have
    accum_dtype: DType | None = None  #: dtype of the squares; None: of each gradient

    def prepare(self, grads, params):
        squares = jnp.zeros_like(self.step)
        for grad in jax.tree.leaves(grads):
            wide = grad.astype(self.accum_dtype or grad.dtype)
            squares = squares + sum(lax.square(wide)).astype(squares.dtype)
        self.factor = jnp.minimum(1.0, self.max_norm * lax.rsqrt(squares))

    def update(self, grad, param):
        return self.factor * grad
