from mlax_scaffold.spec import (
    Mask,
    NonNegative,
    Optimizer,
    Positive,
    scale_by_trust_ratio,
)


class TrustRatio(Optimizer):
    """Scales each update to the norm of its weight.

    update = u * coefficient * norm(weight) / (norm(u) + epsilon), and u where one of
    the norms is zero, or that of u is below the normal numbers of the dtype.

    You et al., 2017, arXiv:1708.03888.
    """

    min_norm: NonNegative = 0.0  #: norms are at least this
    coefficient: Positive = 1.0  #: factor of the ratio
    epsilon: NonNegative = 0.0  #: added to the norm of the update
    mask: Mask | None = None  #: the weights whose updates are scaled; None: all

    def update(self, grad, param):
        if not self.mask:
            return grad
        return scale_by_trust_ratio(
            grad,
            param,
            coefficient=self.coefficient,
            min_norm=self.min_norm,
            epsilon=self.epsilon,
        )
