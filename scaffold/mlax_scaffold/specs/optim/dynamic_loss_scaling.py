import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Optimizer,
    Positive,
    Probability,
    Size,
    SubOptimizer,
    all_finite,
    constant,
    require,
    state,
    zeros,
)


class DynamicLossScaling(Optimizer):
    """Divides gradients by the scale that the loss was multiplied with, and adapts it.

    Take the gradients of `loss * state.scale`. Where one is not finite the step is
    skipped and the scale multiplied by `backoff`; after `period` finite steps it is
    multiplied by `growth`. For float16, whose smallest numbers gradients fall below: the
    optimizer sees weights of float16, and their gradients without the scale, in
    `unscaled_dtype`, and has moments of it. StochasticRounding goes after this one.

    Micikevicius et al., 2018, arXiv:1710.03740.
    """

    optimizer: SubOptimizer  #: the optimizer
    initial_scale: Size = 32768  #: the scale at first
    growth: Positive = 2.0  #: factor of the scale after a period without errors
    backoff: Probability = 0.5  #: factor of the scale after an error
    period: Size = 2000  #: number of finite steps before the scale grows
    min_scale: Size = 1  #: least scale
    max_scale: Size = 16777216  #: largest scale: float16 holds the inverse of this one
    unscaled_dtype: DType = "float32"  #: dtype in which the optimizer sees float16

    def setup_tree(self, params):
        parts = jax.tree.leaves(
            self.optimizer.state,
            is_leaf=lambda part: type(part).__name__ == "StochasticRoundingState",
        )
        require(
            all(hasattr(part, "dtype") for part in parts),
            "StochasticRounding rounds weights of 16 bits, which the optimizer sees in "
            "unscaled_dtype: put it after this one, as the last of a Chain",
        )
        require(
            all(
                leaf.dtype != jnp.float16
                for leaf in jax.tree.leaves(self.optimizer.state)
            ),
            "gradients without their scale are below float16: give "
            "moment_dtype=jnp.float32 to the optimizer",
        )
        self.scale = state(
            constant(self.initial_scale), ()
        )  #: what multiplies the loss
        self.good = state(zeros, (), jnp.int32)  #: number of finite steps in a row

    def step(self, grads, params):
        finite = all_finite(grads)
        inverse = 1.0 / self.scale

        def widened(x):
            return x.astype(self.unscaled_dtype) if x.dtype == jnp.float16 else x

        def take(inner):
            wide, weights = jax.tree.map(widened, (grads, params))
            wide = jax.tree.map(lambda g: g * inverse.astype(g.dtype), wide)
            updates, inner = self.optimizer.apply(wide, inner, weights)
            return jax.tree.map(lambda u, p: u.astype(p.dtype), updates, params), inner

        def skip(inner):
            return jax.tree.map(jnp.zeros_like, params), inner

        updates, inner = lax.cond(finite, take, skip, self.optimizer.state)
        self.optimizer.state = inner
        good = self.good + 1
        grows = good >= self.period
        larger = jnp.where(grows, self.scale * self.growth, self.scale)
        larger = jnp.minimum(larger, self.max_scale)
        smaller = jnp.maximum(self.scale * self.backoff, self.min_scale)
        self.scale = jnp.where(finite, larger, smaller)
        self.good = jnp.where(finite & ~grows, good, 0)
        return updates
