import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Mask,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    constant,
    moment,
    saturate,
    state,
    tree_dot,
    zeros,
)


class DoWG(Optimizer):
    """DoG whose gradients are weighted by the distance at which they were taken.

    With norms over all weights, and weight_decay * weight added to g:
    r = max(r, norm(weights - first weights)^2);  G = G + r norm(g)^2;
    update = -learning_rate * r / (sqrt(G) + epsilon) * g

    Khaled et al., 2023, arXiv:2305.16284.
    """

    learning_rate: Scheduled = 1.0  #: factor of the steps
    first_square: Positive | None = None  #: what r begins with; None: epsilon
    epsilon: NonNegative = 1e-4  #: added to the root
    weight_decay: NonNegative = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the first weights; None: the weight's

    def setup(self, param):
        self.first = moment(param, dtype=self.moment_dtype)

    def setup_tree(self, params):
        self.distance = state(constant(self.first_square or self.epsilon), ())
        self.squares = state(zeros, ())

    def prepare(self, grads, params):
        moved = jax.tree.map(lambda p, f: p - f.astype(p.dtype), params, self.first)
        self.distance = lax.max(self.distance, tree_dot(moved, moved))
        decayed = jax.tree.map(
            lambda g, p, decays: saturate(g + self.weight_decay * p) if decays else g,
            grads,
            params,
            self.mask,
        )
        squares = self.distance * tree_dot(decayed, decayed)
        self.squares = saturate(self.squares + squares)
        epsilon = max(self.epsilon, float(jnp.finfo(self.squares.dtype).tiny))
        factor = self.distance / (lax.sqrt(self.squares) + epsilon)
        # A quotient by nothing but epsilon may be infinite in the dtype of a weight.
        factor = jnp.where(self.squares == 0.0, 0.0, factor)
        self.rate = self.learning_rate * factor

    def update(self, grad, param):
        if self.mask:
            grad = saturate(grad + self.weight_decay * param)
        return -saturate(saturate(self.rate) * grad)
