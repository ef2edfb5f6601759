import jax

from mlax_scaffold.spec import NonNegative, Optimizer, saturate


class AddNoise(Optimizer):
    """Adds normal noise to gradients, whose variance decays: eta / t^gamma.

    Neelakantan et al., 2014, arXiv:1511.06807. A step needs a key.
    """

    eta: NonNegative  #: variance of the noise at first
    gamma: NonNegative = 0.55  #: exponent of the decay of the variance

    def prepare(self, grads, params):
        self.deviation = (self.eta / self.step**self.gamma) ** 0.5

    def update(self, grad, param):
        noise = jax.random.normal(self.key(), grad.shape, grad.dtype)
        return saturate(grad + self.deviation * noise)
