import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Optimizer,
    Scheduled,
    Size,
    moment,
    tree_add,
    tree_dot,
    tree_where,
    zeros,
)


class Lbfgs(Optimizer, keeps_weights=True):
    """L-BFGS: steps along the gradients times an estimate of the inverse Hessian.

    update = -learning_rate P g, where P = c I is improved with each of the last
    `memory_size` differences s of weights and y of gradients, the oldest first:
    P = (I - s y' / <s, y>) P (I - y s' / <s, y>) + s s' / <s, y>.

    Liu & Nocedal, 1989 (Mathematical Programming 45); Nocedal & Wright, 2006, algorithm
    7.4. The step size is that of a line search around it:
    `ZoomSearch.init(Lbfgs.init(trainables))` or `BacktrackingSearch`; by itself each step
    has the size `learning_rate`. With `scale_init_precond` c is <s, y> / <y, y> of the
    last differences and, as in optax, min(1, 1 / norm(g)) in the first step; without, 1.
    """

    learning_rate: Scheduled = 1.0  #: factor of the step
    memory_size: Size = 10  #: number of differences that are kept
    scale_init_precond: bool = True  #: whether the estimate begins as a scaled identity
    accum_dtype: DType | None = None  #: dtype of inner products; None: of each weight

    def setup(self, param):
        self.weights = moment(zeros, param.shape)  #: the weights of the step before
        self.gradients = moment(zeros, param.shape)  #: their gradients
        self.steps = moment(
            zeros, (self.memory_size, *param.shape)
        )  #: differences of weights, the newest last
        self.turns = moment(
            zeros, (self.memory_size, *param.shape)
        )  #: differences of gradients

    def step(self, grads, params):
        accumulate = self.accum_dtype
        first = self.step == 1.0
        nothing = jax.tree.map(jnp.zeros_like, params)
        s = tree_where(first, nothing, tree_add(params, self.weights, -1.0))
        y = tree_where(first, nothing, tree_add(grads, self.gradients, -1.0))
        product, square = tree_dot(s, y, accumulate), tree_dot(y, y, accumulate)

        def pushed(memory, new):
            return jnp.concatenate([memory[1:], new[None]])

        self.weights = params
        self.gradients = grads
        self.steps = jax.tree.map(pushed, self.steps, s)
        self.turns = jax.tree.map(pushed, self.turns, y)
        memory = (self.steps, self.turns)

        def back(direction, difference):
            s, y = difference
            product = tree_dot(s, y, accumulate)
            # What is not filled yet is zero, and changes nothing.
            inverse = 1.0 / jnp.where(product == 0.0, jnp.inf, product)
            share = inverse * tree_dot(s, direction, accumulate)
            return tree_add(direction, y, -share), (share, inverse)

        def forth(direction, known):
            (s, y), (share, inverse) = known
            other = inverse * tree_dot(y, direction, accumulate)
            return tree_add(direction, s, share - other), None

        direction, shares = lax.scan(
            back, grads, memory, self.memory_size, reverse=True
        )
        if self.scale_init_precond:
            norm = lax.sqrt(tree_dot(grads, grads, accumulate))
            begin = 1.0 / jnp.maximum(norm, 1.0)
            scale = product / jnp.where(square > 0.0, square, 1.0)
            scale = jnp.where(square > 0.0, scale, 1.0)
            scale = jnp.where(first, begin, scale)
            direction = jax.tree.map(lambda d: scale.astype(d.dtype) * d, direction)
        direction, _ = lax.scan(forth, direction, (memory, shares))
        rate = self.learning_rate
        return jax.tree.map(lambda d: -rate.astype(d.dtype) * d, direction)
