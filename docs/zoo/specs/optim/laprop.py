import jax.numpy as jnp

from mlax_scaffold.spec import Decay, Mask, NonNegative, Optimizer, Positive, Scheduled, moment, zeros


class LaProp(Optimizer):
    """Momentum of normalized gradients, where Adam normalizes the momentum of gradients.

    Ziyin, Wang & Ueda, 2020, LaProp: Separating Momentum and Adaptivity in Adam,
    arXiv:2002.04839
    """

    learning_rate: Scheduled  #: step size
    mu: Decay = 0.9  #: decay of the momentum
    nu: Decay = 0.999  #: decay of the square
    epsilon: Positive = 1e-15  #: added to the root
    weight_decay: NonNegative = 0.0  #: decoupled
    mask: Mask | None = None  #: which weights decay

    def setup(self, param):
        self.n = moment(zeros, param.shape)
        self.m = moment(zeros, param.shape)

    def update(self, grad, param):
        self.n = self.nu * self.n + (1 - self.nu) * jnp.square(grad)
        n_hat = self.n / (1 - self.nu**self.step)
        self.m = self.mu * self.m + (1 - self.mu) * grad / (jnp.sqrt(n_hat) + self.epsilon)
        update = -self.learning_rate * self.m / (1 - self.mu**self.step)
        if self.mask:
            update -= self.learning_rate * self.weight_decay * param
        return update
