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
    saturate,
    zeros,
)


class AdamW(Optimizer):
    """Adam with decoupled weight decay.

    update = -learning_rate * (the step of Adam + weight_decay * weight)

    Loshchilov & Hutter, 2019, arXiv:1711.05101. Deviations: as in optax and PyTorch the
    decay is multiplied by the learning rate; `epsilon` is at least the smallest normal
    number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: decay of the mean of their squares
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    weight_decay: Scheduled = 1e-4  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
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
        self.square = ema(
            self.square, saturate(lax.square(grad)), self.dither, decay=self.b2
        )
        unbiased = self.mean * self.unbias_mean
        if self.nesterov:
            ahead = self.mean * self.unbias_next
            unbiased = ema(ahead, grad * self.unbias_mean, decay=self.b1)
        step = divide_by_root(
            unbiased,
            self.square * self.unbias_square,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        if self.mask:
            step = step + self.weight_decay * param
        return -self.learning_rate * step
