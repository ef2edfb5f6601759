import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Optimizer,
    Size,
    SubOptimizer,
    moment,
    require,
    running_sum,
    saturate,
    state,
    zeros,
)


class Accumulate(Optimizer):
    """Steps once in several calls, along the mean of their gradients.

    In the calls between, updates are zero. It is what a batch that does not fit into
    memory needs: one call for each part of it. The optimizer is given the mean of the
    values, too. One that evaluates the loss (a line search, Sam) cannot be accumulated:
    no call knows the loss of the other parts.
    """

    optimizer: SubOptimizer  #: the optimizer
    every: Size  #: number of calls for one step
    accum_dtype: DType | None = None  #: dtype of the mean; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.accum_dtype)

    def setup_tree(self, params):
        self.calls = state(zeros, (), jnp.int32)  #: number of calls since the last step
        self.loss = state(zeros, ())  #: mean of the values of these calls

    def step(self, grads, params):
        def share(x):
            # A number of calls beyond 65,504 is infinite in float16.
            return x / saturate((1 + self.calls).astype(x.dtype))

        # The running mean keeps the range of one gradient: a sum might not, in float16.
        def averaged(m, g):
            change = share(g.astype(m.dtype)) - share(m)
            return running_sum(m, change, self.dither.astype(m.dtype))

        mean = jax.tree.map(averaged, self.mean, grads)

        calls = self.calls + 1
        loss = None
        if self.value is not None:
            loss = self.loss + (self.value - self.loss) / calls.astype(self.loss.dtype)
            self.loss = jnp.where(calls == self.every, 0.0, loss)

        def whole(weights):
            require(
                self.every == 1,
                "a call knows the loss of its own part only, which the optimizer "
                "evaluates; leave Accumulate out, and give means over all parts as "
                "gradients and by value_and_gradients (or put Accumulate into Sam)",
            )
            return self.value_and_gradients(weights)

        given = self.value_and_gradients is not None

        def take(total, inner):
            grads = jax.tree.map(lambda a, p: a.astype(p.dtype), total, params)
            updates, inner = self.optimizer.apply(
                grads,
                inner,
                params,
                value=loss,
                value_and_gradients=whole if given else None,
            )
            return updates, inner, jax.tree.map(jnp.zeros_like, total)

        def wait(total, inner):
            return jax.tree.map(jnp.zeros_like, params), inner, total

        updates, inner, kept = lax.cond(
            calls == self.every, take, wait, mean, self.optimizer.state
        )
        self.optimizer.state = inner
        self.mean = kept
        self.calls = calls % self.every
        return updates
