import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    Fraction,
    Optimizer,
    Scheduled,
    Size,
    moment,
    tree_add,
    tree_where,
)
from mlax_scaffold.specs.optim.r_adam import RAdam
from mlax_scaffold.specs.optim.lookahead import Lookahead


class Ranger(Optimizer):
    """RAdam within Lookahead.

    Wright, 2019, Ranger; Liu et al., 2020, arXiv:1908.03265; Zhang et al., 2019,
    arXiv:1907.08610. Every k steps the slow weights move by alpha towards the fast ones,
    and the fast ones start from there again.
    """

    learning_rate: Scheduled  #: step size
    k: Size = 6  #: number of fast steps per slow step
    alpha: Fraction = 0.5  #: step size of the slow weights

    def setup(self, param):
        self.slow = moment(param)

    def setup_tree(self, params):
        self.inner = RAdam(self.learning_rate, b1=0.95)

    def step(self, grads, params):
        updates = self.inner(grads, params)
        fast = tree_add(params, updates, 1.0)
        difference = tree_add(fast, self.slow, -1.0)
        slow = tree_add(self.slow, difference, self.alpha)
        sync = self.step_number % self.k == 0
        self.slow = tree_where(sync, slow, self.slow)
        return tree_where(sync, tree_add(slow, params, -1.0), updates)
