from mlax_scaffold.spec import Optimizer, SubOptimizers


class Chain(Optimizer):
    """Optimizers one after another: the updates of each are the gradients of the next.

    The last one decides the sign: Chain of ClipByGlobalNorm and Adam descends.
    """

    transformations: SubOptimizers  #: initialized optimizers, in order

    def step(self, grads, params):
        for transformation in self.transformations:
            grads = transformation(grads, params)
        return grads
