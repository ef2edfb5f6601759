from mlax_scaffold.spec import (
    Mask,
    Optimizer,
    SubOptimizer,
    tree_merge,
    tree_prune,
    tree_select,
)


class Masked(Optimizer):
    """Applies an optimizer to some weights; the gradients of the others pass unchanged.

    The state is kept for those weights alone. A Chain of Masked with masks that exclude
    one another has an optimizer for each group of weights.
    """

    optimizer: SubOptimizer  #: an optimizer, initialized for all weights
    mask: Mask  #: the weights that it is for

    def setup_tree(self, params):
        self.optimizer.state = tree_prune(self.optimizer.state, params, self.mask)

    def step(self, grads, params):
        chosen = self.mask
        parts = self.optimizer(tree_select(grads, chosen), tree_select(params, chosen))
        return tree_merge(parts, grads)
