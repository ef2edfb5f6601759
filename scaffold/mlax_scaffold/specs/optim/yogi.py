from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    NonNegative,
    Optimizer,
    Scheduled,
    bias_correction,
    constant,
    divide_by_root,
    ema,
    moment,
    running_sum,
    saturate,
)


class Yogi(Optimizer):
    """Adam whose mean square moves by the size of the gradient, not by the difference.

    m = b1 m + (1 - b1) g;  v = v - (1 - b2) sign(v - g^2) g^2;
    update = -learning_rate * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)

    Zaheer et al., 2018, NeurIPS 31. Deviations: as in optax both moments begin with
    `initial_value`, and are unbiased as in Adam; `epsilon` is at least the smallest
    normal number of the dtype.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: decay of the mean of the gradients
    b2: Decay = 0.999  #: the mean square moves by 1 - b2 of the squares
    epsilon: NonNegative = 1e-3  #: added to the root of the mean square
    epsilon_root: NonNegative = 0.0  #: added to the mean square, under the root
    initial_value: NonNegative = 1e-6  #: what the moments begin with
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(constant(self.initial_value), param.shape, self.moment_dtype)
        self.square = moment(
            constant(self.initial_value), param.shape, self.moment_dtype
        )

    def prepare(self, grads, params):
        self.unbias_mean = 1.0 / bias_correction(self.step, decay=self.b1)
        self.unbias_square = 1.0 / bias_correction(self.step, decay=self.b2)

    def update(self, grad, param):
        self.mean = ema(self.mean, grad, self.dither, decay=self.b1)
        new = saturate(lax.square(grad))
        direction = lax.sign(self.square - new)
        change = (self.b2 - 1.0) * direction * new
        self.square = running_sum(self.square, change, self.dither)
        step = divide_by_root(
            self.mean * self.unbias_mean,
            self.square * self.unbias_square,
            epsilon=self.epsilon,
            epsilon_root=self.epsilon_root,
        )
        return -self.learning_rate * step
