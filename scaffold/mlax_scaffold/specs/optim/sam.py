import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Optimizer,
    Positive,
    Size,
    SubOptimizer,
    require,
    scales_loss,
    tree_add,
    tree_dot,
)


class Sam(Optimizer):
    """Sharpness-aware: steps along the gradients at the worst weights nearby.

    w' = w + rho g / norm(g);  update = that of the optimizer for the gradients at w'.
    With several ascents, each begins where the last one ended.

    Foret et al., 2021, arXiv:2010.01412. A step needs value_and_gradients. Deviation
    from optax: gradients are taken within the step (its opaque mode), and zero gradients
    move nothing.
    """

    optimizer: SubOptimizer  #: the optimizer
    rho: Positive = 0.05  #: distance of the worst weights
    ascents: Size = 1  #: number of steps toward them
    accum_dtype: DType | None = None  #: dtype of the squares; None: of each gradient

    def setup_tree(self, params):
        require(
            not scales_loss(self.optimizer.state),
            "gradients that are evaluated here have no scale of the loss: put "
            "DynamicLossScaling around, as in DynamicLossScaling.init(Sam.init(...))",
        )

    def step(self, grads, params):
        worst, steepest = params, grads
        for _ in range(self.ascents):
            norm = lax.sqrt(tree_dot(steepest, steepest, self.accum_dtype))
            far = self.rho / jnp.where(norm > 0.0, norm, 1.0)
            worst = tree_add(worst, steepest, far)
            _, steepest = self.value_and_gradients(worst)
        return self.optimizer(steepest, params)
