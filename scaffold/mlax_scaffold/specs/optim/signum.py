from jax import lax

from mlax_scaffold.spec import Decay, DType, Optimizer, Scheduled, ema, moment, zeros


class Signum(Optimizer):
    """Steps of the same size along the sign of the mean of the gradients.

    m = decay m + (1 - decay) g;  update = -learning_rate * sign(m)

    Bernstein et al., 2018, arXiv:1802.04434; Zhao et al., 2024, arXiv:2407.07972.
    """

    learning_rate: Scheduled  #: step size
    decay: Decay = 0.9  #: decay of the mean of the gradients
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)

    def update(self, grad, param):
        self.mean = ema(self.mean, grad, self.dither, decay=self.decay)
        return -self.learning_rate * lax.sign(self.mean)
