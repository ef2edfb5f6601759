import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    Count,
    DType,
    Optimizer,
    Scheduled,
    SubOptimizer,
    moment,
    running_sum,
    tree_add,
)


class AverageWeights(Optimizer):
    """Keeps an average of the weights that an optimizer makes.

    a = a + (1 - decay) (w - a), from the weights at first; without a decay a is the mean
    of the weights after each step: Polyak & Juditsky, 1992, SIAM J. Control Optim. 30(4).

    The weights that are trained are those of the optimizer. Evaluate the model at
    `hyperparams.evaluation_weights(state, trainables)`.
    """

    optimizer: SubOptimizer  #: the optimizer
    decay: Scheduled | None = 0.999  #: decay of the average; None: the mean of all
    begin: Count = 0  #: number of steps before: until then a is w
    moment_dtype: DType | None = None  #: dtype of the average; None: that of the weight

    def setup(self, param):
        self.average = moment(param, dtype=self.moment_dtype)  #: the average.

    def evaluation_weights(self, state, trainables):
        """The average, in the dtypes of the weights."""
        return jax.tree.map(lambda a, w: a.astype(w.dtype), state.average, trainables)

    def step(self, grads, params):
        updates = self.optimizer(grads, params)
        counted = jnp.maximum(self.step_number - self.begin, 1)
        share = 1.0 / counted.astype(jnp.float32)
        if self.decay is not None:
            share = 1.0 - self.decay
            share = jnp.where(self.step_number <= self.begin, 1.0, share)

        def moved(a, w):
            change = share.astype(a.dtype) * (w.astype(a.dtype) - a)
            return running_sum(a, change, self.dither.astype(a.dtype))

        self.average = jax.tree.map(moved, self.average, tree_add(params, updates))
        return updates
