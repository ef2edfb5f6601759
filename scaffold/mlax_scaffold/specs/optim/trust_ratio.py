import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Mask, NonNegative, Optimizer, Positive, range_scale, sum


class TrustRatio(Optimizer):
    """Scales each update to the norm of its weight.

    update = u * coefficient * norm(weight) / (norm(u) + epsilon), and u where one of
    the norms is zero.

    You et al., 2017, arXiv:1708.03888.
    """

    min_norm: NonNegative = 0.0  #: norms are at least this
    coefficient: Positive = 1.0  #: factor of the ratio
    epsilon: NonNegative = 0.0  #: added to the norm of the update
    mask: Mask | None = None  #: the weights whose updates are scaled; None: all

    def norm(self, x):
        """The norm of an array, at least min_norm."""
        scale = range_scale(x)
        norm = scale * lax.sqrt(sum(lax.square(x / scale), keepdims=True))
        return jnp.maximum(norm, self.min_norm)

    def update(self, grad, param):
        if not self.mask:
            return grad
        weight, update = self.norm(param), self.norm(grad)
        absent = (weight == 0.0) | (update == 0.0)
        # In this order no factor is larger than the norm of the weight.
        direction = grad / jnp.where(absent, 1.0, update + self.epsilon)
        return direction * jnp.where(absent, 1.0, self.coefficient * weight)
