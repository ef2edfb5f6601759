import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    Decay,
    NonNegative,
    Optimizer,
    Scheduled,
    constant,
    moment,
    running_sum,
    saturate,
    state,
    tree_dot,
    zeros,
)


class Momo(Optimizer, keeps_weights=True):
    """Momentum whose step size follows from a model of the loss.

    m, f and c are the means of g, of the loss, and of <g, w>;
    t = max(0, (1 + a d)(f - bound - c) + <m, w>) / norm(m)^2;
    update = -min(a, t) m - a d / (1 + a d) w, with the learning rate a and the decay d.

    Schaipp et al., 2023, arXiv:2305.07583. A step needs the value.
    """

    learning_rate: Scheduled = 1.0  #: the largest step size a
    decay: Decay = 0.9  #: decay of the means
    lower_bound: float = 0.0  #: a lower bound of the loss
    weight_decay: NonNegative = 0.0  #: strength d of the decay
    adapt_lower_bound: bool = False  #: whether the bound is estimated

    def setup(self, param):
        self.mean = moment(zeros, param.shape)

    def setup_tree(self, params):
        self.loss = state(zeros, ())  #: mean of the losses
        self.product = state(
            zeros, ()
        )  #: mean of the products of gradients and weights
        self.bound = state(constant(self.lower_bound), ())  #: lower bound of the loss

    def prepare(self, grads, params):
        # The first gradient and loss are the first means.
        decay = jnp.where(self.step == 1.0, 0.0, self.decay)

        def averaged(m, g):
            rate = (1.0 - decay).astype(m.dtype)
            moved = running_sum(m, rate * g - rate * m, self.dither.astype(m.dtype))
            return jnp.where(self.step == 1.0, g, moved)

        self.mean = jax.tree.map(averaged, self.mean, grads)
        self.loss = decay * self.loss + (1.0 - decay) * self.value
        product = tree_dot(grads, params)
        self.product = saturate(decay * self.product + (1.0 - decay) * product)
        square = tree_dot(self.mean, self.mean)
        inner = tree_dot(self.mean, params)
        shrink = 1.0 + self.learning_rate * self.weight_decay
        bound = self.bound
        if self.adapt_lower_bound:
            cap = shrink * (self.loss - self.product) + inner
            lower = jnp.maximum(cap / (2.0 * shrink), self.lower_bound)
            bound = jnp.where(cap < shrink * bound, lower, bound)
        flat = square <= 2.0**-52
        gap = saturate(shrink * (self.loss - bound - self.product) + inner)
        model = jnp.maximum(gap, 0.0) / jnp.where(flat, 1.0, square)
        self.size = jnp.minimum(self.learning_rate, jnp.where(flat, 0.0, model))
        self.shrunk = self.learning_rate * self.weight_decay / shrink
        if self.adapt_lower_bound:
            bound = self.loss + inner - self.product - 0.5 * self.size * square
            self.bound = jnp.maximum(bound, self.lower_bound)

    def update(self, grad, param):
        return -self.shrunk * param - self.size * self.mean
