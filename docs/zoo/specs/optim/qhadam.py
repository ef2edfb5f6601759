import jax.numpy as jnp

from mlax_scaffold.spec import Decay, Optimizer, Positive, Probability, Scheduled, moment, zeros


class QHAdam(Optimizer):
    """Quasi-hyperbolic Adam: both moments are mixed with what they average.

    update = -lr ((1 - nu1) g + nu1 m^) / (sqrt((1 - nu2) g^2 + nu2 v^) + epsilon)

    Ma & Yarats, 2019, Quasi-hyperbolic momentum and Adam for deep learning,
    arXiv:1810.06801.
    """

    learning_rate: Scheduled  #: step size
    beta1: Decay = 0.995  #: decay of the first moment
    beta2: Decay = 0.999  #: decay of the second moment
    nu1: Probability = 0.7  #: weight of the first moment
    nu2: Probability = 1.0  #: weight of the second moment
    epsilon: Positive = 1e-8  #: added to the denominator

    def setup(self, param):
        self.m = moment(zeros, param.shape)
        self.v = moment(zeros, param.shape)

    def update(self, grad, param):
        self.m = self.beta1 * self.m + (1 - self.beta1) * grad
        self.v = self.beta2 * self.v + (1 - self.beta2) * grad**2
        m_hat = self.m / (1 - self.beta1**self.step)
        v_hat = self.v / (1 - self.beta2**self.step)
        numerator = (1 - self.nu1) * grad + self.nu1 * m_hat
        denominator = jnp.sqrt((1 - self.nu2) * grad**2 + self.nu2 * v_hat)
        return -self.learning_rate * numerator / (denominator + self.epsilon)
