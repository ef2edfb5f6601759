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


class Dog(Optimizer):
    """Distance over gradients: a step size without a learning rate.

    rate = r / sqrt(G + epsilon), with r the largest distance from the first weights so
    far, and G the sum of norm(g)^2; update = -learning_rate * rate * (g + decay * w).

    Ivgi et al., 2023, arXiv:2302.12022. With `reps_rel` (not None), r begins at
    reps_rel * (1 + norm(w)), else at `first_distance`. Weight decay is part of g.
    """

    learning_rate: Scheduled = 1.0  #: factor of the step
    reps_rel: Positive | None = 1e-6  #: first distance, relative to the weights
    first_distance: Positive = 1e-6  #: first distance, where reps_rel is None
    epsilon: NonNegative = 1e-8  #: added to the sum of squares
    weight_decay: NonNegative = 0.0  #: strength of the decay
    mask: Mask | None = None  #: the weights that decay; None: all

    def setup(self, param):
        self.first = moment(param)  #: the first weights.

    def setup_tree(self, params):
        self.distance = state(
            constant(self.first_distance), ()
        )  #: the largest distance
        self.squares = state(zeros, ())  #: the sum of the squares of gradients

    def decayed(self, grad, param, chosen):
        """The gradient with weight decay."""
        return grad + self.weight_decay * param if chosen else grad

    def prepare(self, grads, params):
        decayed = jax.tree.map(self.decayed, grads, params, self.mask)
        moved = tree_add(params, self.first, -1.0)
        distance = jnp.maximum(self.distance, lax.sqrt(tree_dot(moved, moved)))
        if self.reps_rel is not None:
            norm = lax.sqrt(tree_dot(params, params))
            first = self.reps_rel * (1.0 + norm)
            distance = jnp.where(self.step == 1.0, first, distance)
        self.distance = distance
        self.squares = self.squares + tree_dot(decayed, decayed)
        flat = self.squares == 0.0
        root = lax.sqrt(jnp.where(flat, 1.0, self.squares + self.epsilon))
        self.rate = jnp.where(flat, 0.0, self.learning_rate * distance / root)

    def update(self, grad, param):
        return -self.rate * self.decayed(grad, param, self.mask)
