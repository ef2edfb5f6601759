from mlax_scaffold.spec import Mask, Optimizer, Scheduled, saturate


class WeightDecay(Optimizer):
    """Adds a multiple of each weight: g + weight_decay * weight.

    Before an optimizer of a Chain this is L2 regularization; after it, with the sign
    and the rate of the update, decoupled weight decay.
    """

    weight_decay: Scheduled  #: strength of the decay
    mask: Mask | None = None  #: the weights that decay; None: all

    def update(self, grad, param):
        return saturate(grad + self.weight_decay * param) if self.mask else grad
