import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    NonNegative,
    Optimizer,
    Scheduled,
    bias_correction,
    constant,
    ema,
    moment,
    saturate,
    state,
    tree_dot,
    zeros,
)


class MomoAdam(Optimizer, keeps_weights=True):
    """Adam whose step size follows from a model of the loss.

    m, v, f and c are the means of g, of g^2, of the loss, and of <g, w>;
    s = epsilon + sqrt(v / (1 - b2^t));  u = 1 - b1^t;
    p = max(0, (1 + a d)(f - u bound - c) + <m, w>) / <m, m / s>;
    update = -min(a / u, p) m / s - a d / (1 + a d) w, with the learning rate a and the
    decay d.

    Schaipp et al., 2023, arXiv:2305.07583. A step needs the value. Where the mean
    gradients are zero there is no step. Deviations: `epsilon` is at least the smallest
    normal number of the dtype, so that float16 does not divide by zero.
    """

    learning_rate: Scheduled = 1e-2  #: the largest step size a
    b1: Decay = 0.9  #: decay of the means of gradients and losses
    b2: Decay = 0.999  #: decay of the mean of the squares
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    lower_bound: float = 0.0  #: a lower bound of the loss
    weight_decay: NonNegative = 0.0  #: strength d of the decay
    adapt_lower_bound: bool = False  #: whether the bound is estimated

    def setup(self, param):
        self.mean = moment(zeros, param.shape)
        self.square = moment(zeros, param.shape)

    def setup_tree(self, params):
        self.loss = state(zeros, ())  #: mean of the losses
        self.product = state(
            zeros, ()
        )  #: mean of the products of gradients and weights
        self.bound = state(constant(self.lower_bound), ())  #: lower bound of the loss

    def scaled(self, mean, square, unbias):
        """The mean gradient over the root of the mean square."""
        epsilon = max(self.epsilon, float(jnp.finfo(mean.dtype).tiny))
        return mean / (epsilon + lax.sqrt(square * unbias.astype(mean.dtype)))

    def prepare(self, grads, params):
        def averaged(m, g):
            return ema(m, g, self.dither.astype(m.dtype), decay=self.b1)

        def squared(v, g):
            return ema(
                v, saturate(lax.square(g)), self.dither.astype(v.dtype), decay=self.b2
            )

        def direction(m, v):
            return self.scaled(m, v, self.unbias)

        self.mean = jax.tree.map(averaged, self.mean, grads)
        self.square = jax.tree.map(squared, self.square, grads)
        self.unbias = 1.0 / bias_correction(self.step, decay=self.b2)
        kept = bias_correction(self.step, decay=self.b1)
        self.loss = self.b1 * self.loss + (1.0 - self.b1) * self.value
        product = tree_dot(grads, params)
        product = self.b1 * self.product + (1.0 - self.b1) * product
        self.product = saturate(product)
        norm = tree_dot(self.mean, jax.tree.map(direction, self.mean, self.square))
        inner = tree_dot(self.mean, params)
        shrink = 1.0 + self.learning_rate * self.weight_decay
        bound = self.bound
        if self.adapt_lower_bound:
            cap = shrink * (self.loss - self.product) + inner
            lower = jnp.maximum(cap / (2.0 * kept * shrink), self.lower_bound)
            bound = jnp.where(cap < shrink * kept * bound, lower, bound)
        flat = norm <= 2.0**-52
        gap = shrink * (self.loss - kept * bound - self.product) + inner
        gap = saturate(gap)
        model = jnp.maximum(gap, 0.0) / jnp.where(flat, 1.0, norm)
        self.size = jnp.minimum(self.learning_rate / kept, jnp.where(flat, 0.0, model))
        self.shrunk = self.learning_rate * self.weight_decay / shrink
        if self.adapt_lower_bound:
            bound = (self.loss + inner - self.product - 0.5 * self.size * norm) / kept
            self.bound = jnp.maximum(bound, self.lower_bound)

    def update(self, grad, param):
        step = self.scaled(self.mean, self.square, self.unbias)
        return -self.shrunk * param - self.size * step
