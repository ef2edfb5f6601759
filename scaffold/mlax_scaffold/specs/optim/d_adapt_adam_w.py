import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    bias_correction,
    constant,
    ema,
    moment,
    require,
    saturate,
    state,
    sum,
    tree_dot,
    zeros,
)


class DAdaptAdamW(Optimizer):
    """AdamW with an estimate d of the distance to the solution as its step size.

    m = b1 m + (1 - b1) a g;  v = b2 v + (1 - b2) g^2;  q = sqrt(b2);
    r = q r + (1 - q) a <g, s / (sqrt(v) + epsilon)>;  s = q s + (1 - q) a g;
    d = max(d, r / ((1 - q) norm1(s))), with a = d learning_rate sqrt(1 - b2^t) / (1 - b1^t);
    update = -m / (sqrt(v) + epsilon) - a weight_decay w

    Defazio & Mishchenko, 2023, arXiv:2301.07733. In r, s and v are those of the step
    before. Deviation: epsilon is at least the smallest normal number of the dtype.
    float16 has not the range of the moments: `init` refuses it.
    """

    learning_rate: Scheduled = 1.0  #: factor of the step
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean of their squares
    epsilon: Positive = 1e-8  #: added to the root of the mean square
    first_estimate: Positive = 1e-6  #: the first estimate d
    weight_decay: NonNegative = 0.0  #: strength of the decay
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        require(
            jnp.finfo(self.moment_dtype or param.dtype).maxexp > 16,
            "the squares of small estimates are zero in float16: give "
            "moment_dtype=jnp.float32",
        )
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)
        self.total = moment(zeros, param.shape, self.moment_dtype)

    def setup_tree(self, params):
        self.estimate = state(constant(self.first_estimate), ())  #: the estimate d
        self.product = state(zeros, ())  #: the sum r

    def scaled(self, x, square):
        """X divided by the root of the mean square."""
        epsilon = max(self.epsilon, float(jnp.finfo(x.dtype).tiny))
        return x / (lax.sqrt(square) + epsilon)

    def prepare(self, grads, params):
        q = self.b2**0.5
        unbias = lax.sqrt(bias_correction(self.step, decay=self.b2))
        unbias = unbias / bias_correction(self.step, decay=self.b1)
        self.rate = self.estimate * self.learning_rate * unbias
        product = tree_dot(jax.tree.map(self.scaled, self.total, self.square), grads)
        product = q * self.product + (1.0 - q) * self.rate * product
        self.product = saturate(product)
        own_rate = self.rate

        def summed(s, g):
            new = saturate(own_rate.astype(s.dtype) * g.astype(s.dtype))
            return ema(s, new, self.dither.astype(s.dtype), decay=q)

        self.total = jax.tree.map(summed, self.total, grads)
        norm = jnp.zeros_like(own_rate)
        for leaf in jax.tree.leaves(self.total):
            norm = norm + (1.0 - q) * sum(lax.abs(leaf)).astype(norm.dtype)
        found = self.product / jnp.where(norm > 0.0, norm, 1.0)
        self.estimate = jnp.maximum(self.estimate, jnp.where(norm > 0.0, found, 0.0))

    def update(self, grad, param):
        scaled_grad = saturate(self.rate * grad)
        self.mean = ema(self.mean, scaled_grad, self.dither, decay=self.b1)
        self.square = ema(
            self.square, saturate(lax.square(grad)), self.dither, decay=self.b2
        )
        step = self.scaled(self.mean, self.square)
        return -step - self.rate * self.weight_decay * param
