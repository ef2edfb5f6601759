import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Optimizer,
    Positive,
    SubOptimizer,
    all_finite,
    require,
    scales_loss,
    state,
    tree_dot,
    zeros,
)


class SkipLargeUpdates(Optimizer):
    """Skips steps whose gradients are larger than a norm, or not finite.

    Updates are then zero, and the optimizer's state stays.
    """

    optimizer: SubOptimizer  #: the optimizer
    max_norm: Positive  #: the largest norm over all gradients
    accum_dtype: DType | None = None  #: dtype of the squares; None: of each gradient

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state),
            "max_norm would be compared with gradients that have the scale of the loss: put "
            "DynamicLossScaling around, as in DynamicLossScaling.init(SkipLargeUpdates.init(...))",
        )
        self.skipped = state(zeros, (), jnp.int32)  #: number of steps that were skipped

    def step(self, grads, params):
        square = tree_dot(grads, grads, self.accum_dtype)
        small = all_finite(grads) & (square <= self.max_norm**2)

        def take(inner):
            return self.optimizer.apply(grads, inner, params)

        def skip(inner):
            return jax.tree.map(jnp.zeros_like, params), inner

        updates, inner = lax.cond(small, take, skip, self.optimizer.state)
        self.optimizer.state = inner
        # The largest number stays, and does not wrap around.
        self.skipped = lax.max(self.skipped, self.skipped + jnp.where(small, 0, 1))
        return updates
