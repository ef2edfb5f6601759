from jax import lax

from mlax_scaffold.spec import Decay, DType, Optimizer, Scheduled, ema, moment, zeros


class Lion(Optimizer):
    """Steps of the same size along the sign of a mean of the gradients.

    update = -learning_rate * (sign(b1 m + (1 - b1) g) + weight_decay * weight);
    m = b2 m + (1 - b2) g

    Chen et al., 2023, arXiv:2302.06675.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: weight of the mean in the step
    b2: Decay = 0.99  #: decay of the mean of the gradients
    weight_decay: Scheduled = 1e-3  #: strength of the weight decay
    moment_dtype: DType | None = None  #: dtype of the mean; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)

    def update(self, grad, param):
        step = lax.sign(ema(self.mean, grad, decay=self.b1))
        self.mean = ema(self.mean, grad, decay=self.b2)
        return -self.learning_rate * (step + self.weight_decay * param)
