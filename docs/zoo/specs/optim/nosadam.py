import jax.numpy as jnp

from mlax_scaffold.spec import Decay, NonNegative, Optimizer, Positive, Scheduled, moment, state, zeros


class NosAdam(Optimizer):
    """Adam that gives more weight to the past: beta2_t = B_{t-1} / B_t, B_t = sum_k k^-gamma

    Huang, Wang & Dong, 2019, Nostalgic Adam, arXiv:1805.07557.
    """

    learning_rate: Scheduled  #: step size
    beta1: Decay = 0.9  #: decay of the first moment
    gamma: NonNegative = 0.1  #: exponent of the hyperharmonic series
    epsilon: Positive = 1e-8  #: added to the root

    def setup(self, param):
        self.m = moment(zeros, param.shape)
        self.v = moment(zeros, param.shape)

    def setup_tree(self, params):
        self.B = state(zeros, ())

    def prepare(self, grads, params):
        B_old = self.B
        self.B = B_old + self.step**-self.gamma
        self.beta2 = B_old / self.B

    def update(self, grad, param):
        self.m = self.beta1 * self.m + (1 - self.beta1) * grad
        self.v = self.beta2 * self.v + (1 - self.beta2) * grad**2
        return -self.learning_rate * self.m / (jnp.sqrt(self.v) + self.epsilon)
