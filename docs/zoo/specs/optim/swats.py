import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Decay, Optimizer, Positive, Scheduled, moment, state, zeros


class SWATS(Optimizer):
    """Adam that switches to SGD, for each weight when its estimated rate has settled.

    Keskar & Socher, 2017, Improving Generalization Performance by Switching from Adam to
    SGD, arXiv:1712.07628, algorithm 1.
    """

    learning_rate: Scheduled  #: step size of the Adam phase
    beta1: Decay = 0.9  #: decay of the first moment
    beta2: Decay = 0.999  #: decay of the second moment
    epsilon: Positive = 1e-9  #: added to the denominator, and tolerance of the switch

    def setup(self, param):
        self.m = moment(zeros, param.shape)
        self.a = moment(zeros, param.shape)
        self.v = moment(zeros, param.shape)
        self.rate = moment(zeros, ())
        self.switched = moment(zeros, (), bool)

    def update(self, grad, param):
        self.m = self.beta1 * self.m + (1 - self.beta1) * grad
        self.a = self.beta2 * self.a + (1 - self.beta2) * grad**2

        def sgd(_):
            v = self.beta1 * self.v + grad
            return -(1 - self.beta1) * self.rate * v, v, self.rate, True

        def adam(_):
            correction = jnp.sqrt(1 - self.beta2**self.step) / (1 - self.beta1**self.step)
            p = -self.learning_rate * correction * self.m / (jnp.sqrt(self.a) + self.epsilon)
            dot = jnp.vdot(p, grad)
            gamma = jnp.where(dot != 0, jnp.vdot(p, p) / -dot, 0.0)
            rate = self.beta2 * self.rate + (1 - self.beta2) * gamma
            estimate = rate / (1 - self.beta2**self.step)
            close = jnp.abs(estimate - gamma) < self.epsilon
            done = (self.step > 1) & (dot != 0) & close
            return p, self.v, jnp.where(done, estimate, rate), done

        update, self.v, self.rate, self.switched = lax.cond(self.switched, sgd, adam, None)
        return update
