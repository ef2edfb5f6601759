import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Mask,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    constant,
    moment,
    state,
    tree_add,
    tree_dot,
    zeros,
)


class DoWG(Optimizer):
    """Distance over weighted gradients: a step size without a learning rate.

    rate = r / (sqrt(sum of r norm(g)^2) + epsilon), with r the largest squared distance
    from the first weights so far; update = -learning_rate * rate * (g + decay * w).

    Khaled et al., 2023, arXiv:2305.16284.
    """

    learning_rate: Scheduled = 1.0  #: factor of the step
    first_square_distance: Positive = 1e-4  #: the first squared distance
    epsilon: Positive = 1e-4  #: added to the root
    weight_decay: NonNegative = 0.0  #: strength of the decay
    mask: Mask | None = None  #: the weights that decay; None: all

    def setup(self, param):
        self.first = moment(param)  #: the first weights.

    def setup_tree(self, params):
        self.distance = state(
            constant(self.first_square_distance), ()
        )  #: the largest squared distance
        self.squares = state(zeros, ())  #: the weighted sum of the squares of gradients

    def decayed(self, grad, param, chosen):
        """The gradient with weight decay."""
        return grad + self.weight_decay * param if chosen else grad

    def prepare(self, grads, params):
        decayed = jax.tree.map(self.decayed, grads, params, self.mask)
        moved = tree_add(params, self.first, -1.0)
        self.distance = jnp.maximum(self.distance, tree_dot(moved, moved))
        self.squares = self.squares + self.distance * tree_dot(decayed, decayed)
        root = lax.sqrt(self.squares) + self.epsilon
        self.rate = self.learning_rate * self.distance / root

    def update(self, grad, param):
        return -self.rate * self.decayed(grad, param, self.mask)
