import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Optimizer, Positive, range_scale, sum


class AdaptiveGradClip(Optimizer):
    """Clips the gradient of each unit to a fraction of the norm of its weights.

    g * min(1, clipping * max(norm(w), epsilon) / norm(g)), with the norms over all axes
    but that of the units; of vectors and scalars, over the whole.

    Brock et al., 2021, arXiv:2102.06171. Deviation from optax: the axis of the units
    can be chosen, and is one axis for arrays of every rank.
    """

    clipping: Positive  #: the largest ratio of the norms
    epsilon: Positive = 1e-3  #: least norm of weights
    unit_axis: int = -1  #: axis of the units: -1 of (in, out), 0 of kernels in OIHW

    def norm(self, x):
        """The norm of each unit; it may broadcast."""
        axes = [a for a in range(x.ndim) if x.ndim < 2 or a != self.unit_axis % x.ndim]
        scale = range_scale(x, axis=tuple(axes))
        squares = lax.square(x / scale)
        return scale * lax.sqrt(sum(squares, axis=tuple(axes), keepdims=True))

    def update(self, grad, param):
        largest = self.clipping * jnp.maximum(self.norm(param), self.epsilon)
        norm = self.norm(grad)
        small = float(jnp.finfo(grad.dtype).tiny)
        return grad * jnp.minimum(1.0, largest / jnp.maximum(norm, small))
