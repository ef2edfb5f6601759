from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    bias_correction,
    divide_by_root,
    ema,
    moment,
    saturate,
    zeros,
)


class AdaBelief(Optimizer):
    """Adam with the mean square of what the mean did not predict.

    m = b1 m + (1 - b1) g;  s = b2 s + (1 - b2) (g - m)^2 + epsilon_root;
    update = -learning_rate * (m / (1 - b1^t)) / (sqrt(s / (1 - b2^t)) + epsilon);
    with `nesterov` the mean is that of NAdam.

    Zhuang et al., 2020, arXiv:2010.07468. Deviations: `epsilon` is at least the smallest
    normal number of the dtype; as in optax the defaults are those of the authors' code.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean square
    epsilon: NonNegative = 1e-16  #: added to the root of the mean square
    epsilon_root: NonNegative = 1e-16  #: added to the mean square at every step
    nesterov: bool = False  #: whether the mean looks one step ahead
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)
        self.unbias_next = 1.0 / bias_correction(self.step + 1.0, decay=self.b1)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b2)

    def update(self, grad, param):
        self.mean = ema(self.mean, grad, self.dither, decay=self.b1)
        error = saturate(lax.square(grad - self.mean))
        self.square = (
            ema(self.square, error, self.dither, decay=self.b2) + self.epsilon_root
        )
        unbiased = self.mean * self.unbias_mean
        if self.nesterov:
            ahead = self.mean * self.unbias_next
            unbiased = ema(ahead, grad * self.unbias_mean, decay=self.b1)
        var = self.square * self.unbias_square
        step = divide_by_root(unbiased, var, epsilon=self.epsilon)
        return -self.learning_rate * step
