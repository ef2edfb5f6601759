from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Optimizer, Scheduled, SubOptimizer


class Conditionally(Optimizer):
    """Applies an optimizer in some steps: those for which a condition is not 0.

    In the others its state stays, and the gradients pass unchanged, or updates are zero.
    The condition is called with the number of steps before, as schedules are:
    `lambda step: step % 10 == 0` takes each tenth step from the first.
    """

    optimizer: SubOptimizer  #: the optimizer
    condition: Scheduled  #: a number that is 0 in steps that are left out
    otherwise: Literal["pass", "zero"] = "pass"  #: what becomes of their gradients

    def step(self, grads, params):
        def take(inner):
            return self.optimizer.apply(grads, inner, params)

        def leave(inner):
            passes = self.otherwise == "pass"
            return grads if passes else jax.tree.map(jnp.zeros_like, params), inner

        updates, inner = lax.cond(
            self.condition != 0.0, take, leave, self.optimizer.state
        )
        self.optimizer.state = inner
        return updates
