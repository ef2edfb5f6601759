from jax import lax

from mlax_scaffold.spec import Optimizer, Positive


class Clip(Optimizer):
    """Clips each element of the gradients to [-max_delta, max_delta].

    The result is to be the gradients of the next optimizer of a Chain.
    """

    max_delta: Positive  #: the largest absolute value

    def update(self, grad, param):
        bound = lax.full_like(grad, self.max_delta)
        return lax.clamp(-bound, grad, bound)
