import jax

from mlax_scaffold.spec import (
    Optimizer,
    Probability,
    Size,
    SubOptimizer,
    moment,
    running_sum,
    saturate,
    tree_add,
    tree_where,
)


class Lookahead(Optimizer):
    """Every few steps, goes back from the fast weights toward the slow ones.

    slow = slow + slow_step (fast - slow);  fast = slow, in each `period`-th step.

    Zhang et al., 2019, arXiv:1907.08610. The weights that are trained are the fast ones;
    the slow ones are in the state. The optimizer's state is kept, or begins anew with
    `reset`.
    """

    optimizer: SubOptimizer  #: the optimizer of the fast weights
    period: Size = 6  #: number of steps between synchronizations
    slow_step: Probability = 0.5  #: step of the slow weights toward the fast ones
    reset: bool = False  #: whether synchronizations take the optimizer's state back

    def setup(self, param):
        self.slow = moment(param)  #: the slow weights.

    def step(self, grads, params):
        updates = self.optimizer(grads, params)
        fast = tree_add(params, updates)
        difference = tree_add(fast, self.slow, -1.0)

        def followed(s, d):
            step = self.slow_step * d
            return saturate(running_sum(s, step, self.dither.astype(s.dtype)))

        slow = jax.tree.map(followed, self.slow, difference)
        synchronizes = self.step_number % self.period == 0
        self.slow = tree_where(synchronizes, slow, self.slow)
        if self.reset:
            first = self.optimizer.initial_state(params)
            kept = self.optimizer.state
            self.optimizer.state = tree_where(synchronizes, first, kept)
        back = jax.tree.map(lambda s, p: s - p, slow, params)
        return tree_where(synchronizes, back, updates)
