import jax

from mlax_scaffold.spec import NonNegative, Optimizer, Scheduled


class NoisySgd(Optimizer):
    """Gradient descent with normal noise, whose variance decays.

    update = -learning_rate * (g + n), with n of the variance eta / t^gamma.

    Neelakantan et al., 2014, arXiv:1511.06807. A step needs a key.
    """

    learning_rate: Scheduled  #: step size
    eta: NonNegative = 0.01  #: variance of the noise at first
    gamma: NonNegative = 0.55  #: exponent of the decay of the variance

    def prepare(self, grads, params):
        self.deviation = (self.eta / self.step**self.gamma) ** 0.5

    def update(self, grad, param):
        noise = jax.random.normal(self.key(), grad.shape, grad.dtype)
        return -self.learning_rate * (grad + self.deviation * noise)
