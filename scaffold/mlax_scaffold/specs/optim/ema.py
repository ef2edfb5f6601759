from mlax_scaffold.spec import (
    Decay,
    DType,
    Optimizer,
    bias_correction,
    ema,
    moment,
    zeros,
)


class Ema(Optimizer):
    """The exponential moving average of the updates.

    m = decay m + (1 - decay) u;  update = m / (1 - decay^t), or m
    """

    decay: Decay  #: decay of the average
    debias: bool = True  #: whether the average is divided by the weight of its terms
    moment_dtype: DType | None = None  #: dtype of the average; None: that of the weight

    def setup(self, param):
        self.average = moment(zeros, param.shape, self.moment_dtype)

    def prepare(self, grads, params):
        self.scale = 1.0 / bias_correction(self.step, decay=self.decay)

    def update(self, grad, param):
        self.average = ema(self.average, grad, self.dither, decay=self.decay)
        return self.average * self.scale if self.debias else self.average
