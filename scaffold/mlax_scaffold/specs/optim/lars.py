from mlax_scaffold.spec import (
    Decay,
    DType,
    Mask,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    moment,
    running_sum,
    scale_by_trust_ratio,
    zeros,
)


class LARS(Optimizer):
    """Momentum along gradients that are as long, in each array, as its weights.

    u = g + weight_decay * weight, times trust_coefficient * norm(weight) / norm(u);
    m = momentum m + learning_rate * u;  update = -m, and with `nesterov`
    -(momentum m + learning_rate * u). Where a norm is zero, u stays as it is.

    You et al., 2017, arXiv:1708.03888. Deviation: as in optax the norm of the sum, not
    the sum of the norms, divides.
    """

    learning_rate: Scheduled  #: step size
    weight_decay: Scheduled = 0.0  #: strength of the weight decay
    mask: Mask | None = None  #: weights that decay; None: all
    trust_coefficient: Positive = 0.001  #: length of a step in lengths of the weights
    epsilon: NonNegative = 0.0  #: added to the norm that divides
    trust_mask: Mask | None = None  #: weights whose steps are scaled; None: all
    momentum: Decay = 0.9  #: decay of the trace of steps; 0: none is kept
    nesterov: bool = False  #: whether the step looks ahead along the trace
    moment_dtype: DType | None = None  #: dtype of the trace; None: that of the weight

    def setup(self, param):
        self.trace = (
            moment(zeros, param.shape, self.moment_dtype)
            if self.momentum > 0.0
            else None
        )

    def update(self, grad, param):
        if self.mask:
            grad = grad + self.weight_decay * param
        if self.trust_mask:
            grad = scale_by_trust_ratio(
                grad, param, coefficient=self.trust_coefficient, epsilon=self.epsilon
            )
        update = -self.learning_rate * grad
        if self.trace is not None:
            self.trace = running_sum(
                self.trace, update, self.dither, decay=self.momentum
            )
            update = (
                self.momentum * self.trace + update if self.nesterov else self.trace
            )
        return update
