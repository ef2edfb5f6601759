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
    running_sum,
    saturate,
    state,
    sum,
    tree_add,
    tree_dot,
    zeros,
)


class Prodigy(Optimizer):
    """Adam with an estimate d of the distance to the solution as its step size.

    m = b1 m + (1 - b1) d g;  v = b2 v + (1 - b2) (d g)^2;
    r = b3 r + (d / d0) a <g, w0 - w>;  s = b3 s + (d / d0) a g;
    d = max(d, growth r / norm1(s)), with a = d learning_rate sqrt(1 - b2^t) / (1 - b1^t);
    update = -a (m / (sqrt(v) + d epsilon) + weight_decay w)

    Mishchenko & Defazio, 2023, arXiv:2306.06101. As in optax, d is the new one in the
    denominator and the old one elsewhere. b3 is sqrt(b2) where it is None.
    float16 has not the range of the moments: `init` refuses it.
    """

    learning_rate: Scheduled = 1.0  #: factor of the step
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean of their squares
    b3: Decay | None = None  #: decay of the sums of the estimate; None: sqrt(b2)
    epsilon: Positive = 1e-8  #: added to the root of the mean square, times d
    first_estimate: Positive = 1e-6  #: the first estimate d0
    growth: Positive = 1.0  #: factor of estimates
    weight_decay: NonNegative = 0.0  #: strength of the decay
    safeguard_warmup: bool = False  #: whether the learning rate is left out of s
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
        self.first = moment(param, dtype=self.moment_dtype)  #: the first weights.

    def setup_tree(self, params):
        self.estimate = state(constant(self.first_estimate), ())  #: the estimate d
        self.product = state(zeros, ())  #: the sum r

    def prepare(self, grads, params):
        b3 = self.b2**0.5 if self.b3 is None else self.b3
        unbias = lax.sqrt(bias_correction(self.step, decay=self.b2))
        unbias = unbias / bias_correction(self.step, decay=self.b1)
        self.old = self.estimate
        self.rate = self.estimate * self.learning_rate * unbias
        relative = self.estimate / self.first_estimate
        product = tree_dot(grads, tree_add(self.first, params, -1.0))
        product = b3 * self.product + relative * self.rate * product
        self.product = saturate(product)
        weight = relative * (self.estimate if self.safeguard_warmup else self.rate)

        def summed(s, g):
            new = saturate(weight.astype(s.dtype) * g.astype(s.dtype))
            new = running_sum(s, new, self.dither.astype(s.dtype), decay=b3)
            return saturate(new)

        self.total = jax.tree.map(summed, self.total, grads)
        norm = jnp.zeros_like(self.rate)
        for leaf in jax.tree.leaves(self.total):
            norm = norm + sum(lax.abs(leaf)).astype(norm.dtype)
        found = self.growth * self.product / jnp.where(norm > 0.0, norm, 1.0)
        self.estimate = jnp.maximum(self.estimate, jnp.where(norm > 0.0, found, 0.0))

    def update(self, grad, param):
        scaled = saturate(self.old * grad)
        self.mean = ema(self.mean, scaled, self.dither, decay=self.b1)
        self.square = ema(
            self.square, saturate(lax.square(scaled)), self.dither, decay=self.b2
        )
        tiny = float(jnp.finfo(grad.dtype).tiny)
        epsilon = jnp.maximum(self.estimate * self.epsilon, tiny)
        step = self.mean / (lax.sqrt(self.square) + epsilon)
        return -self.rate * (step + self.weight_decay * param)
