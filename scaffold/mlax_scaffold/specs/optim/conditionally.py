from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Function, Optimizer, SubOptimizer, require, scales_loss


class Conditionally(Optimizer):
    """Applies an optimizer in some steps: those for which a condition is True, or not 0.

    In the others its state stays, and the gradients pass unchanged, or updates are zero.
    The condition is called with the number of steps before, an integer:
    `lambda step: step % 10 == 0` takes each tenth step from the first.
    """

    optimizer: SubOptimizer  #: the optimizer
    condition: Function  #: a function of the number of steps before
    otherwise: Literal["pass", "zero"] = "pass"  #: what becomes of their gradients

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state),
            "gradients that pass, or are left out, have the scale of the loss: put "
            "DynamicLossScaling around, as in DynamicLossScaling.init(Conditionally.init(...))",
        )

    def step(self, grads, params):
        def take(inner):
            return self.optimizer.apply(grads, inner, params)

        def leave(inner):
            passes = self.otherwise == "pass"
            return grads if passes else jax.tree.map(jnp.zeros_like, params), inner

        taken = jnp.asarray(self.condition(self.step_number - 1)).astype(jnp.bool_)
        updates, inner = lax.cond(taken, take, leave, self.optimizer.state)
        self.optimizer.state = inner
        return updates
