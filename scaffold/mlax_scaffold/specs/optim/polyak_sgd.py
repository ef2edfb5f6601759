import jax.numpy as jnp

from mlax_scaffold.spec import (
    DType,
    Literal,
    NonNegative,
    Optimizer,
    Positive,
    tree_dot,
)


class PolyakSgd(Optimizer):
    """Gradient descent with the step size of Polyak.

    update = -scaling * min((f - f_min) / (norm(g)^2 + epsilon), max_learning_rate) * g;
    the variant "sps+" takes a gap below zero for zero.

    Loizou et al., 2021, arXiv:2002.10542; Garrigos et al., 2023, arXiv:2307.14528. A
    step needs the value. Without gradients, at a squared norm of at most 2^-52 as in optax,
    there is no step. Unlike there, the norm is of gradients that `scaling` does not scale.
    """

    max_learning_rate: Positive = 1.0  #: the largest step size
    scaling: Positive = 1.0  #: factor of the step
    f_min: float = 0.0  #: a lower bound of the loss
    epsilon: NonNegative = 0.0  #: added to the square of the norm
    variant: Literal["sps", "sps+"] = "sps"  #: what a loss below the bound means
    accum_dtype: DType | None = None  #: dtype of the squares; None: of each gradient

    def prepare(self, grads, params):
        square = tree_dot(grads, grads, self.accum_dtype) + self.epsilon
        gap = self.value - self.f_min
        if self.variant == "sps+":
            gap = jnp.maximum(gap, 0.0)
        flat = square <= 2.0**-52
        factor = jnp.minimum(gap / jnp.where(flat, 1.0, square), self.max_learning_rate)
        self.rate = jnp.where(flat, 0.0, self.scaling * factor)

    def update(self, grad, param):
        return -self.rate * grad
