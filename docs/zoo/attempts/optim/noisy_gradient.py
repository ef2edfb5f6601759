import jax
import jax.numpy as jnp

from mlax_scaffold.spec import NonNegative, Optimizer, Scheduled


class AnnealedNoiseSGD(Optimizer):
    """Gradient descent with noise of variance eta / (1 + t)^gamma added to the gradients.

    Neelakantan et al., 2015, Adding Gradient Noise Improves Learning for Very Deep
    Networks, arXiv:1511.06807.
    """

    learning_rate: Scheduled  #: step size
    eta: NonNegative = 0.3  #: variance of the noise at the first step
    gamma: NonNegative = 0.55  #: exponent of its decay
    max_norm: float | None = None  #: gradients are clipped to this global norm before

    def prepare(self, grads, params):
        self.sigma = jnp.sqrt(self.eta / self.step**self.gamma)
        if self.max_norm is not None:
            norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grads)))
            self.clip = jnp.minimum(1.0, self.max_norm / norm)
        else:
            self.clip = 1.0

    def update(self, grad, param):
        noise = self.sigma * jax.random.normal(self.key(), grad.shape)
        return -self.learning_rate * (self.clip * grad + noise)
