from mlax_scaffold.spec import (
    Decay,
    DType,
    Optimizer,
    Scheduled,
    moment,
    running_sum,
    zeros,
)


class Sgd(Optimizer):
    """Stochastic gradient descent, with momentum where it is given.

    m = momentum m + g;  update = -learning_rate * m, and with `nesterov`
    -learning_rate * (momentum m + g).

    Sutskever et al., 2013, PMLR 28(3). Without momentum there is no trace.
    """

    learning_rate: Scheduled  #: step size
    momentum: Decay = 0.0  #: decay of the trace of gradients
    nesterov: bool = False  #: whether the step looks ahead along the trace
    moment_dtype: DType | None = None  #: dtype of the trace; None: that of the weight

    def setup(self, param):
        self.trace = (
            moment(zeros, param.shape, self.moment_dtype)
            if self.momentum > 0.0
            else None
        )

    def update(self, grad, param):
        if self.trace is None:
            return -self.learning_rate * grad
        self.trace = running_sum(self.trace, grad, self.dither, decay=self.momentum)
        step = self.momentum * self.trace + grad if self.nesterov else self.trace
        return -self.learning_rate * step
