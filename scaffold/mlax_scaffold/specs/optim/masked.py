import jax

from mlax_scaffold.spec import (
    Mask,
    Optimizer,
    SubOptimizer,
    require,
    scales_loss,
    tree_merge,
    tree_prune,
    tree_select,
)


class Masked(Optimizer):
    """Applies an optimizer to some weights; the gradients of the others pass unchanged.

    The state is kept for those weights alone, and an optimizer that evaluates the loss
    does so with the other weights as they are. A Chain of Masked with masks that exclude
    one another has an optimizer for each group of weights.
    """

    optimizer: SubOptimizer  #: an optimizer, initialized for all weights
    mask: Mask  #: the weights that it is for

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state) or all(jax.tree.leaves(self.mask)),
            "the gradients that pass would have the scale of the loss: put "
            "DynamicLossScaling around what updates all weights, as in "
            "DynamicLossScaling.init(partition(trainables, {...}, labels))",
        )
        self.optimizer.state = tree_prune(self.optimizer.state, params, self.mask)

    def step(self, grads, params):
        chosen = self.mask

        def with_the_others(parts):
            loss, slopes = self.value_and_gradients(tree_merge(parts, params))
            return loss, tree_select(slopes, chosen)

        given = self.value_and_gradients is not None
        parts = self.optimizer(
            tree_select(grads, chosen),
            tree_select(params, chosen),
            value_and_gradients=with_the_others if given else None,
        )
        return tree_merge(parts, grads)
