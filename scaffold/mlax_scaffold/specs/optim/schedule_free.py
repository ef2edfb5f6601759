import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    DType,
    Fraction,
    NonNegative,
    Optimizer,
    Scheduled,
    SubOptimizer,
    moment,
    require,
    running_sum,
    state,
    zeros,
)


class ScheduleFree(Optimizer):
    """Averages the weights of an optimizer in the place of a schedule.

    z = z + the optimizer's update at y;  x = x + c (z - x);  y = (1 - b1) z + b1 x, with
    c = r^p / (sum of r^p), where r is the largest learning rate so far.

    Defazio et al., 2024, arXiv:2405.15682. The weights that are trained are y; evaluate
    the model at x, which is `hyperparams.evaluation_weights(state, trainables)`. The
    optimizer is one without momentum: Sgd, or AdamW with b1=0. Deviation from optax:
    schedules are called with 0 in the first step.
    """

    optimizer: SubOptimizer  #: the optimizer of z
    learning_rate: Scheduled  #: that of the optimizer: it weights the average
    b1: Fraction = 0.9  #: weight of the average in the weights that are trained
    weight_power: NonNegative = 2.0  #: exponent p of the learning rate
    moment_dtype: DType | None = None  #: dtype of z; None: that of the weight

    def setup(self, param):
        self.z = moment(
            param, dtype=self.moment_dtype
        )  #: the weights without averaging.

    def setup_tree(self, params):
        require(
            not self.optimizer.keeps_weights(params),
            "optimizer keeps weights, or what they moved by, which would be those of y, and "
            "its updates are those of z: give one that keeps means of gradients, such as "
            "AdamW or Sgd, and put one that is around others around ScheduleFree, as in "
            "Lookahead.init(trainables, ScheduleFree.init(trainables, ...))",
        )
        self.largest = state(zeros, ())  #: the largest learning rate so far
        self.total = state(zeros, ())  #: the sum of the weights of the average

    def evaluation_weights(self, state, trainables):
        """The average x, at which the model is to be evaluated."""

        def average(y, z):
            z = z.astype(y.dtype)
            return z + (y - z) / self.b1

        return jax.tree.map(average, trainables, state.z)

    def step(self, grads, params):
        self.largest = jnp.maximum(self.largest, self.learning_rate)
        weight = self.largest**self.weight_power
        self.total = self.total + weight
        share = weight / jnp.where(self.total > 0.0, self.total, 1.0)

        def moved(z, u):
            return running_sum(z, u.astype(z.dtype), self.dither.astype(z.dtype))

        # What y moves by, without y: in 16 bits it would be lost in their difference.
        def difference(y, z, u):
            c, u = share.astype(z.dtype), u.astype(z.dtype)
            weight = (1.0 - self.b1) + self.b1 * c
            return (weight * u + c * (z - y.astype(z.dtype))).astype(y.dtype)

        steps = self.optimizer(grads, params)
        updates = jax.tree.map(difference, params, self.z, steps)
        self.z = jax.tree.map(moved, self.z, steps)
        return updates
