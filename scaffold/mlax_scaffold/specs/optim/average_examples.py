import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Optimizer, SubOptimizer, mean


class AverageExamples(Optimizer, per_example=True):
    """Gives an optimizer the mean of the gradients of each example.

    update = that of the optimizer for (sum of g) / n, with n examples.

    It is for the weights of a `partition` whose gradients are not clipped, where those of
    others are, by ClipExamples or DifferentiallyPrivate: a step has gradients of one
    kind. Gradients are those of
    `jax.vmap(jax.grad(loss_fn), (None, 0))(trainables, batch)`. An optimizer around this
    one would need the gradients of weights: it is the outermost.
    """

    optimizer: SubOptimizer  #: the optimizer

    def step(self, grads, params):
        def averaged(g):
            return mean(g, axis=0) if g.shape[0] else jnp.zeros(g.shape[1:], g.dtype)

        return self.optimizer(jax.tree.map(averaged, grads), params)
