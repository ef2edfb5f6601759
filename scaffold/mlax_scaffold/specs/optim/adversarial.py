from mlax_scaffold.spec import (
    Optimizer,
    Size,
    SubOptimizer,
    require,
    scales_loss,
    tree_add,
)


class Adversarial(Optimizer):
    """Steps along the gradients at weights that another optimizer has made worse.

    w_0 = w;  w_k = w_{k-1} - the updates of the adversary there;  update = that of the
    optimizer for the gradients at the last of them.

    Foret et al., 2021, arXiv:2010.01412, who ascend along the normalized gradients:
    with a Chain of Normalize and Sgd as its adversary it is Sam. A step needs
    value_and_gradients. Deviation from optax: gradients are taken within the step (its
    opaque mode).
    """

    optimizer: SubOptimizer  #: the optimizer
    adversary: SubOptimizer  #: an optimizer, whose updates are subtracted
    ascents: Size = 1  #: number of steps of the adversary
    reset: bool = True  #: whether the adversary begins anew in each step

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state)
            and not scales_loss(self.adversary.state),
            "gradients that are evaluated here have no scale of the loss: put "
            "DynamicLossScaling around, as in DynamicLossScaling.init(Adversarial.init(...))",
        )

    def step(self, grads, params):
        worst, steepest = params, grads
        loss = None if self.value is None else self.value
        for _ in range(self.ascents):
            updates = self.adversary(steepest, worst, value=loss)
            worst = tree_add(worst, updates, -1.0)
            loss, steepest = self.value_and_gradients(worst)
        if self.reset:
            self.adversary.state = self.adversary.initial_state(params)
        return self.optimizer(steepest, params)
