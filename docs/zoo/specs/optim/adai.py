import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Decay, NonNegative, Optimizer, Positive, Scheduled, moment, state, zeros, ones
from mlax_scaffold.spec import sum as strict_sum


class Adai(Optimizer):
    """Adaptive inertia: the momentum, not the learning rate, is adapted to each element.

    mu = clip(1 - beta0 v^ / mean(v^), 0, 1 - eps), where the mean is over all weights;
    m = mu m + (1 - mu) g; update = -lr m / (1 - prod mu).

    Xie et al., 2022, Adaptive Inertia: Disentangling the Effects of Adaptive Learning Rate
    and Momentum, arXiv:2006.15815.
    """

    learning_rate: Scheduled  #: step size
    beta0: NonNegative = 0.1  #: strength of the adaptation
    beta2: Decay = 0.99  #: decay of the second moment
    epsilon: Positive = 1e-3  #: distance of the momentum to one

    def setup(self, param):
        self.m = moment(zeros, param.shape)
        self.v = moment(zeros, param.shape)
        self.prod = moment(ones, param.shape)

    def prepare(self, grads, params):
        self.v = jax.tree.map(
            lambda v, g: self.beta2 * v + (1 - self.beta2) * g**2, self.v, grads
        )
        leaves = jax.tree.leaves(self.v)
        total = sum(strict_sum(v) for v in leaves)
        size = sum(v.size for v in leaves)
        self.correction = 1 - self.beta2**self.step
        self.mean_v = total / size / self.correction

    def update(self, grad, param):
        v_hat = self.v / self.correction
        mu = jnp.clip(1 - self.beta0 * v_hat / self.mean_v, 0, 1 - self.epsilon)
        self.m = mu * self.m + (1 - mu) * grad
        self.prod = self.prod * mu
        return -self.learning_rate * self.m / (1 - self.prod)
