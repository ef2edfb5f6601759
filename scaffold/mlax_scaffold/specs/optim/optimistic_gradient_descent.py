import jax.numpy as jnp

from mlax_scaffold.spec import DType, Optimizer, Scheduled, moment, saturate, zeros


class OptimisticGradientDescent(Optimizer):
    """Gradient descent that expects the gradient to change as it just did.

    update = -learning_rate * (alpha g + beta (g - previous g))

    Mokhtari et al., 2019, arXiv:1901.08511. It converges in min-max games in which
    gradient descent circles. At the first step the previous gradient is the gradient.
    """

    learning_rate: Scheduled  #: step size
    alpha: Scheduled = 1.0  #: weight of the gradient
    beta: Scheduled = 1.0  #: weight of its change
    moment_dtype: DType | None = None  #: dtype of the gradient kept; None: the weight's

    def setup(self, param):
        self.previous = moment(zeros, param.shape, self.moment_dtype)

    def update(self, grad, param):
        change = saturate(jnp.where(self.step == 1.0, 0.0, grad - self.previous))
        self.previous = grad
        ahead = saturate(self.alpha * grad + self.beta * change)
        return -self.learning_rate * ahead
