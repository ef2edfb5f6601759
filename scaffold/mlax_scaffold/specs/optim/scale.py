from mlax_scaffold.spec import Optimizer, Scheduled


class Scale(Optimizer):
    """Multiplies updates by a number, or by what a schedule says.

    After an optimizer of a Chain whose learning rate is 1 it is the learning rate;
    with a negative factor it turns gradients into a descent.
    """

    factor: Scheduled  #: the factor

    def update(self, grad, param):
        return self.factor * grad
