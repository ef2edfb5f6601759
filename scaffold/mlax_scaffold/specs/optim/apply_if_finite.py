import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Count,
    Optimizer,
    SubOptimizer,
    all_finite,
    require,
    scales_loss,
    state,
    zeros,
)


class ApplyIfFinite(Optimizer):
    """Skips steps whose gradients are infinite or not a number.

    Updates are then zero, and the optimizer's state stays. After more than
    `max_consecutive_errors` such steps in a row they are taken all the same, so that a
    model that has diverged is seen to have.
    """

    optimizer: SubOptimizer  #: the optimizer
    max_consecutive_errors: Count = 5  #: number of steps in a row that are skipped

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state),
            "the steps that are skipped are those that DynamicLossScaling has to see, and skips "
            "itself: leave ApplyIfFinite out",
        )
        self.errors = state(zeros, (), jnp.int32)  #: number of errors in a row
        self.total = state(zeros, (), jnp.int32)  #: number of all errors

    def step(self, grads, params):
        finite = all_finite(grads)
        # The largest numbers stay, and do not wrap around.
        self.errors = jnp.where(finite, 0, lax.max(self.errors, self.errors + 1))
        self.total = lax.max(self.total, self.total + jnp.where(finite, 0, 1))

        def take(inner):
            return self.optimizer.apply(grads, inner, params)

        def skip(inner):
            return jax.tree.map(jnp.zeros_like, params), inner

        taken = finite | (self.errors > self.max_consecutive_errors)
        updates, inner = lax.cond(taken, take, skip, self.optimizer.state)
        self.optimizer.state = inner
        return updates
