import jax.numpy as jnp

from mlax_scaffold.spec import Decay, Optimizer, Positive, Scheduled, Size, moment, state, zeros


class AdaShift(Optimizer):
    """Adam whose second moment is of gradients that are `keep` steps old.

    The shifted gradient is independent of the present one, which decorrelates v and g. No
    update is made during the first `keep` steps. Block-wise with max as spatial operation.

    Zhou et al., 2019, AdaShift: Decorrelation and Convergence of Adaptive Learning Rate
    Methods, arXiv:1810.00143, algorithm 2.
    """

    learning_rate: Scheduled  #: step size
    keep: Size = 10  #: n, by how many steps the gradient is shifted
    beta1: Decay = 0.9  #: decay of the mean of the last gradients
    beta2: Decay = 0.999  #: decay of the second moment
    epsilon: Positive = 1e-8  #: added to the root

    def setup(self, param):
        self.queue = moment(zeros, (self.keep, *param.shape))
        self.v = moment(zeros, ())

    def weights(self):
        w = [self.beta1**i for i in range(self.keep)]
        return [x / sum(w) for x in w]

    def update(self, grad, param):
        oldest = self.queue[0]
        self.queue = jnp.concatenate([self.queue[1:], grad[None]])
        m = sum(w * g for w, g in zip(self.weights(), self.queue[::-1]))
        age = jnp.maximum(self.step - self.keep, 1)
        started = self.step > self.keep
        v = self.beta2 * self.v + (1 - self.beta2) * jnp.max(oldest**2)
        self.v = jnp.where(started, v, self.v)
        v_hat = self.v / (1 - self.beta2**age)
        update = -self.learning_rate * m / (jnp.sqrt(v_hat) + self.epsilon)
        return jnp.where(started, update, 0.0)
