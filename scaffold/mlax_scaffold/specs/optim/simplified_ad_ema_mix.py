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


class SimplifiedAdEMAMix(Optimizer):
    """AdEMAMix with one trace of gradients, to which the gradient is added once more.

    m = b1 m + g;  v = b2 v + (1 - b2) g^2;
    update = -learning_rate * ((m + alpha g) / (sqrt(v / (1 - b2^t)) + epsilon)
    + weight_decay * weight)

    Morwani et al., 2025, arXiv:2502.02431. Deviation: `epsilon` is at least the smallest
    normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.99  #: decay of the trace of gradients
    b2: Decay = 0.95  #: decay of the mean of their squares
    alpha: Scheduled = 0.0  #: weight of the gradient beside the trace
    epsilon: NonNegative = 1e-8  #: added to the root of the mean square
    epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    weight_decay: Scheduled = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.trace = moment(zeros, param.shape, self.moment_dtype)
        self.square = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b2)

    def update(self, grad, param):
        self.trace = saturate(running_sum(self.trace, grad, self.dither, decay=self.b1))
        self.square = ema(
            self.square, saturate(lax.square(grad)), self.dither, decay=self.b2
        )
        step = divide_by_root(
            self.trace + self.alpha * grad,
            self.square * self.unbias_square,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        if self.mask:
            step = step + self.weight_decay * param
        return -self.learning_rate * step
