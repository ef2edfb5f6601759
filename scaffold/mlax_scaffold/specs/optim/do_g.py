import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Literal,
    Mask,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    moment,
    saturate,
    state,
    tree_dot,
    zeros,
)


class DoG(Optimizer):
    """Gradient descent whose step size is the distance travelled over the gradients.

    With norms over all weights, and weight_decay * weight added to g:
    r = max(r, norm(weights - first weights));  G = G + norm(g)^2;
    update = -learning_rate * r / sqrt(G + epsilon) * g

    Ivgi et al., 2023, arXiv:2302.12022. r begins with `first_value` ("distance"), or with
    first_value * (1 + norm(weights)) ("heuristic"); with "learning_rate" it begins with
    zero, and `first_value` is the first r / sqrt(G + epsilon).
    """

    learning_rate: Scheduled = 1.0  #: factor of the steps
    first_step: Literal["heuristic", "distance", "learning_rate"] = "heuristic"  #: kind
    first_value: Positive = 1e-6  #: what the kind says
    epsilon: NonNegative = 1e-8  #: added to the sum of squares, under the root
    weight_decay: NonNegative = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the first weights; None: the weight's

    def setup(self, param):
        self.first = moment(param, dtype=self.moment_dtype)

    def setup_tree(self, params):
        self.distance = state(zeros, ())
        self.squares = state(zeros, ())

    def prepare(self, grads, params):
        moved = jax.tree.map(lambda p, f: p - f.astype(p.dtype), params, self.first)
        distance = lax.sqrt(tree_dot(moved, moved))
        start = jnp.full_like(distance, self.first_value)
        if self.first_step == "heuristic":
            start = start * (1.0 + lax.sqrt(tree_dot(params, params)))
        elif self.first_step == "learning_rate":
            start = jnp.zeros_like(start)
        start = jnp.where(self.step == 1.0, start, self.distance)
        self.distance = lax.max(start, distance)
        decayed = jax.tree.map(
            lambda g, p, decays: saturate(g + self.weight_decay * p) if decays else g,
            grads,
            params,
            self.mask,
        )
        self.squares = saturate(self.squares + tree_dot(decayed, decayed))
        epsilon = max(self.epsilon, float(jnp.finfo(self.squares.dtype).tiny))
        factor = self.distance * lax.rsqrt(self.squares + epsilon)
        # A quotient by nothing but epsilon may be infinite in the dtype of a weight.
        factor = jnp.where(self.squares == 0.0, 0.0, factor)
        if self.first_step == "learning_rate":
            factor = jnp.where(self.step == 1.0, self.first_value, factor)
        self.rate = self.learning_rate * factor

    def update(self, grad, param):
        if self.mask:
            grad = saturate(grad + self.weight_decay * param)
        return -saturate(saturate(self.rate) * grad)
