from mlax_scaffold.spec import Optimizer, moment, zeros


class Snapshot(Optimizer):
    """Keeps the last updates, and leaves them as they are.

    In a `named_chain` or a Chain the state has what its other optimizers made of the
    gradients up to there, for any measure to be taken of it between steps. Monitor keeps
    a number for each weight.
    """

    def setup(self, param):
        self.updates = moment(zeros, param.shape)  #: the last updates.

    def update(self, grad, param):
        self.updates = grad
        return grad
