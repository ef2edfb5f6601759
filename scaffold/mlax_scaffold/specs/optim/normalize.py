from jax import lax

from mlax_scaffold.spec import (
    DType,
    NonNegative,
    Optimizer,
    Positive,
    saturate,
    tree_dot,
)


class Normalize(Optimizer):
    """Scales all gradients by norm / (their norm + epsilon), the norm over all of them.

    In float16 the squares of large gradients are infinite: give an accum_dtype. The
    factor is at most the largest number of the dtype, so that zeros stay zeros.
    """

    norm: Positive = 1.0  #: the norm of the result
    epsilon: NonNegative = 1e-6  #: added to the norm
    accum_dtype: DType | None = None  #: dtype of the squares; None: of each gradient

    def prepare(self, grads, params):
        length = lax.sqrt(tree_dot(grads, grads, self.accum_dtype))
        self.factor = self.norm / (length + self.epsilon)

    def update(self, grad, param):
        return saturate(self.factor) * grad
