import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Count,
    DType,
    NonNegative,
    Optimizer,
    Positive,
    Probability,
    SubOptimizer,
    ones,
    require,
    scales_loss,
    state,
    tree_add,
    tree_dot,
    tree_where,
)


class BacktrackingSearch(Optimizer):
    """Scales the update of an optimizer until the loss decreases enough.

    update = a u, with the first a of b, b q, b q^2, ... that satisfies
    f(w + a u) <= (1 + rtol) f(w) + slope_rtol a <u, g> + atol, where u is the update of
    the optimizer and b is `increase_factor` times the last a.

    Armijo, 1966 (Pacific Journal of Mathematics 16); Vaswani et al., 2019,
    arXiv:1905.09997. A step needs value_and_gradients, and evaluates it
    at the weights, too: its gradients may be clipped. The loss is compared in its own
    dtype, which for losses in half precision is coarse. Where no a is found the
    last one is taken, and where the loss is not a number there the update is zero.
    Deviation from optax: after an update of zero the search begins again from the last
    positive a.
    """

    optimizer: SubOptimizer  #: the optimizer of the direction
    max_steps: Count = 20  #: how often the step size may decrease
    slope_rtol: Probability = 1e-4  #: share of the slope that the loss must fall by
    decrease_factor: Probability = 0.8  #: factor q of a step size that is too large
    increase_factor: Positive = 1.5  #: factor of the last step size in the first guess
    max_learning_rate: Positive = 1.0  #: the largest step size
    atol: NonNegative = 0.0  #: absolute tolerance of the decrease
    rtol: NonNegative = 0.0  #: tolerance of the decrease, relative to the loss
    accum_dtype: DType | None = None  #: dtype of the slope; None: of each weight

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state),
            "gradients that are evaluated here have no scale of the loss: put "
            "DynamicLossScaling around, as in DynamicLossScaling.init(BacktrackingSearch.init(...))",
        )
        self.size = state(ones, ())  #: the last step size

    def step(self, grads, params):
        direction = self.optimizer(grads, params)
        value, steepest = self.value_and_gradients(params)
        slope = tree_dot(direction, steepest, self.accum_dtype)
        target = (1.0 + self.rtol) * value.astype(slope.dtype)

        def excess(size):
            loss, _ = self.value_and_gradients(tree_add(params, direction, size))
            above = loss.astype(size.dtype) - target - size * self.slope_rtol * slope
            return jnp.where(jnp.isnan(above), jnp.inf, jnp.maximum(above, 0.0))

        def unfinished(search):
            _, above, number = search
            return (above > self.atol) & (number < self.max_steps)

        def shortened(search):
            size, _, number = search
            size = self.decrease_factor * size
            return size, excess(size), number + 1

        guess = jnp.minimum(self.increase_factor * self.size, self.max_learning_rate)
        begin = (guess, excess(guess), jnp.zeros((), jnp.int32))
        size, above, _ = lax.while_loop(unfinished, shortened, begin)
        failed = jnp.isinf(above)
        self.size = jnp.where(failed, self.size, size)
        zero = jax.tree.map(jnp.zeros_like, direction)
        return tree_where(failed, zero, tree_add(zero, direction, size))
