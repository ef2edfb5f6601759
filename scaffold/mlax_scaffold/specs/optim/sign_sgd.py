from jax import lax

from mlax_scaffold.spec import Optimizer, Scheduled


class SignSgd(Optimizer):
    """Steps of the same size along the sign of each gradient.

    update = -learning_rate * sign(g)

    Bernstein et al., 2018, arXiv:1802.04434.
    """

    learning_rate: Scheduled  #: step size

    def update(self, grad, param):
        return -self.learning_rate * lax.sign(grad)
