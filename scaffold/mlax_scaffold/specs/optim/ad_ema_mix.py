from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    Mask,
    NonNegative,
    Optimizer,
    Scheduled,
    bias_correction,
    divide_by_root,
    ema,
    moment,
    running_sum,
    saturate,
    zeros,
)


class AdEMAMix(Optimizer):
    """Adam with a second, slow mean of the gradients beside the fast one.

    m = b1 m + (1 - b1) g;  s = b3 s + (1 - b3) g;  v = b2 v + (1 - b2) g^2;
    update = -learning_rate * ((m / (1 - b1^t) + alpha s) / (sqrt(v / (1 - b2^t))
    + epsilon) + weight_decay * weight)

    Pagliardini et al., 2024, arXiv:2409.03137. Give schedules of `b3` and `alpha` that
    rise, as in the paper. Deviation: `epsilon` is at least the smallest normal number of
    the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the fast mean of the gradients
    b2: Decay = 0.999  #: decay of the mean of their squares
    b3: Scheduled = 0.9999  #: decay of the slow mean of the gradients
    alpha: Scheduled = 5.0  #: weight of the slow mean
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    weight_decay: Scheduled = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.slow = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b2)
        self.slow_rate = 1.0 - self.b3

    def update(self, grad, param):
        self.mean = ema(self.mean, grad, self.dither, decay=self.b1)
        change = self.slow_rate * (grad - self.slow)
        self.slow = running_sum(self.slow, change, self.dither)
        self.square = ema(
            self.square, saturate(lax.square(grad)), self.dither, decay=self.b2
        )
        mixed = self.mean * self.unbias_mean + self.alpha * self.slow
        step = divide_by_root(
            mixed,
            self.square * self.unbias_square,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        if self.mask:
            step = step + self.weight_decay * param
        return -self.learning_rate * step
