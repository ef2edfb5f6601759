import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    NonNegative,
    Optimizer,
    Positive,
    Size,
    SubOptimizer,
    constant,
    moment,
    require,
    running_sum,
    saturate,
    scales_loss,
    state,
    sum,
    tree_dot,
    zeros,
)


class Mechanic(Optimizer, keeps_weights=True):
    """Learns the factor of the updates of an optimizer: Mechanic.

    With w - w0 = s D, and for each of the decays b = 0.9, 0.99, ...:
    h = <g + weight_decay s (norm(g) / norm(w)) w, -D>;  r = b r + s_b clip(h, -m, m);
    m = max(b m, |h| + epsilon);  v = b^2 v + h^2;
    s_b = (m first_scale / number + max(r, 0)) / (sqrt(v) + epsilon);
    s = the sum of all s_b;  D = D + u;  w = w0 + s D

    Cutkosky et al., 2023, arXiv:2306.00144. Its learning rate is 1, or a schedule up to
    1. As in optax, D is (w - w0) / (s + epsilon). Deviation from optax: w - w0 is kept,
    the sum of the updates, and not w0: 16 bits of w would not tell small differences.
    """

    optimizer: SubOptimizer  #: the optimizer, whose updates u are scaled
    weight_decay: NonNegative = 1e-2  #: strength of the decay within h
    epsilon: Positive = 1e-8  #: added to norms, and to sums that are divided by
    first_scale: Positive = 1e-6  #: the factor of each decay at first
    num_betas: Size = 6  #: number of decays
    moment_dtype: DType | None = None  #: dtype of w - w0; None: that of the weight

    def setup(self, param):
        self.moved = moment(zeros, param.shape, self.moment_dtype)  #: w - w0.

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state),
            "the gradients here would have the scale of the loss: put DynamicLossScaling "
            "around, as in DynamicLossScaling.init(Mechanic.init(...))",
        )
        require(
            not self.optimizer.keeps_weights(params),
            "optimizer keeps weights, or what they moved by, which are not those that its "
            "updates would lead to, as Mechanic scales these: give one that keeps means of "
            "gradients, such as AdamW or Sgd, and put one that is around others around "
            "Mechanic, as in Lookahead.init(trainables, Mechanic.init(trainables, ...))",
        )
        shape = (self.num_betas,)
        self.scales = state(constant(self.first_scale), shape)  #: the factors s_b
        self.reward = state(zeros, shape)  #: the sums r
        self.bound = state(zeros, shape)  #: the largest |h|
        self.squares = state(zeros, shape)  #: the sums v of its squares

    def step(self, grads, params):
        updates = self.optimizer(grads, params)
        before = sum(self.scales)
        norm = lax.sqrt(tree_dot(params, params)) + self.epsilon
        decay = self.weight_decay * before * lax.sqrt(tree_dot(grads, grads)) / norm
        product = tree_dot(self.moved, grads) + decay * tree_dot(self.moved, params)
        h = saturate(-product / (before + self.epsilon))

        decays = [1.0 - 0.1 ** (k + 1) for k in range(self.num_betas)]
        betas = jnp.asarray(decays, before.dtype)
        clipped = jnp.clip(h, -self.bound, self.bound)
        self.reward = saturate(betas * self.reward + clipped * self.scales)
        self.bound = jnp.maximum(betas * self.bound, lax.abs(h) + self.epsilon)
        self.squares = saturate(betas * betas * self.squares + h * h)
        share = self.first_scale / self.num_betas
        wealth = share * self.bound + jnp.maximum(self.reward, 0.0)
        self.scales = wealth / (lax.sqrt(self.squares) + self.epsilon)
        after = sum(self.scales)
        growth = after / (before + self.epsilon) - 1.0

        def difference(m, u):
            step = after.astype(m.dtype) * u.astype(m.dtype)
            return saturate(growth.astype(m.dtype) * m + step)

        def followed(m, step):
            return saturate(running_sum(m, step, self.dither.astype(m.dtype)))

        steps = jax.tree.map(difference, self.moved, updates)
        self.moved = jax.tree.map(followed, self.moved, steps)
        return jax.tree.map(lambda step, w: step.astype(w.dtype), steps, params)
