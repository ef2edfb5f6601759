from mlax_scaffold.spec import Optimizer, SubOptimizers, require, scales_loss


class Chain(Optimizer):
    """Optimizers one after another: the updates of each are the gradients of the next.

    The last one decides the sign: Chain of ClipByGlobalNorm and Adam descends.
    """

    transformations: SubOptimizers  #: initialized optimizers, in order

    def step(self, grads, params):
        for place, transformation in enumerate(self.transformations):
            require(
                place == 0 or not scales_loss(transformation.state),
                "what stands before DynamicLossScaling sees gradients with the scale of "
                "the loss: put that around the Chain, or first in it",
            )
            grads = transformation(grads, params)
        return grads
