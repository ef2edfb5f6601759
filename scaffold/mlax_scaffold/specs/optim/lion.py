from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    Mask,
    Optimizer,
    Scheduled,
    ema,
    moment,
    zeros,
)


class Lion(Optimizer):
    """Steps of the same size along the sign of a mean of the gradients.

    update = -learning_rate * (sign(b1 m + (1 - b1) g) + weight_decay * weight);
    m = b2 m + (1 - b2) g

    Chen et al., 2023, arXiv:2302.06675. With b1 < b2 the mean of the step is computed
    as b1/b2 m + (1 - b1/b2) g from the new m, which is the same.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.9  #: weight of the mean in the step
    b2: Decay = 0.99  #: decay of the mean of the gradients
    weight_decay: Scheduled = 1e-3  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    moment_dtype: DType | None = None  #: dtype of the mean; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)

    def update(self, grad, param):
        if self.b1 < self.b2:
            # The step from the new mean: one that reads the old mean would keep the new
            # one from taking its place in memory.
            self.mean = ema(self.mean, grad, self.dither, decay=self.b2)
            ahead = ema(self.mean, grad, decay=self.b1 / self.b2)
        else:
            ahead = ema(self.mean, grad, decay=self.b1)
            self.mean = ema(self.mean, grad, self.dither, decay=self.b2)
        step = lax.sign(ahead)
        if self.mask:
            step = step + self.weight_decay * param
        return -self.learning_rate * step
