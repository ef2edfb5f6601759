import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Optimizer,
    Positive,
    Size,
    SubOptimizer,
    all_finite,
    moment,
    require,
    running_sum,
    saturate,
    scales_loss,
    state,
    tree_dot,
    tree_where,
    zeros,
)


class Accumulate(Optimizer):
    """Steps once in several calls, along the mean of their gradients, or the sum.

    In the calls between, updates are zero. It is what a batch that does not fit into
    memory needs: one call for each part of it. The optimizer is given the mean or the
    sum of the values, too. One that evaluates the loss (a line search, Sam) cannot be
    accumulated: no call knows the loss of the other parts. A call that is skipped does
    not count, and its updates are zero, too.
    """

    optimizer: SubOptimizer  #: the optimizer
    every: Size  #: number of calls for one step
    accum_dtype: DType | None = None  #: dtype of the mean; None: that of the weight
    use_mean: bool = True  #: whether it is the mean of the gradients; else their sum
    skip_not_finite: bool = False  #: whether gradients that are not finite are skipped
    skip_above: Positive | None = None  #: the largest norm that is not; None: any

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.accum_dtype)

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state)
            or (self.skip_above is None and not self.skip_not_finite),
            "what is skipped are gradients with the scale of the loss, which "
            "DynamicLossScaling has to see: put it around, as in "
            "DynamicLossScaling.init(Accumulate.init(...))",
        )
        self.calls = state(zeros, (), jnp.int32)  #: number of calls since the last step
        self.loss = state(zeros, ())  #: mean of the values of these calls

    def step(self, grads, params):
        def share(x):
            # A number of calls beyond 65,504 is infinite in float16.
            return x / saturate((1 + self.calls).astype(x.dtype))

        # The running mean keeps the range of one gradient: a sum might not, in float16.
        def added(m, g):
            g = g.astype(m.dtype)
            change = share(g) - share(m) if self.use_mean else g
            return running_sum(m, change, self.dither.astype(m.dtype))

        skips = jnp.zeros((), jnp.bool_)
        if self.skip_not_finite:
            skips = ~all_finite(grads)
        if self.skip_above is not None:
            square = tree_dot(grads, grads, self.accum_dtype)
            skips = skips | ~(square <= self.skip_above**2)
        mean = jax.tree.map(added, self.mean, grads)
        mean = tree_where(skips, self.mean, mean)

        calls = self.calls + jnp.where(skips, 0, 1)
        loss = None
        if self.value is not None:
            change = self.value
            if self.use_mean:
                change = share(self.value) - share(self.loss)
            loss = jnp.where(skips, self.loss, self.loss + change)
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
