import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Optimizer, Positive, range_scale, sum


class AdaptiveGradClip(Optimizer):
    """Clips the gradient of each unit to a fraction of the norm of its weights.

    g * min(1, clipping * max(norm(w), epsilon) / norm(g)), with the norms over all axes
    but that of the units; of vectors and scalars, over the whole.

    Brock et al., 2021, arXiv:2102.06171. The units of a matrix (in, out) are its columns,
    and those of a kernel of more axes, (out, in, *window) or (out, *window, in), are along
    its first axis; `unit_axis` says otherwise, and Masked for which weights. Deviation
    from optax, whose kernels have their units along the last axis.
    """

    clipping: Positive  #: the largest ratio of the norms
    epsilon: Positive = 1e-3  #: least norm of weights
    unit_axis: int | None = None  #: axis of the units; None: by the number of axes

    def norm(self, x):
        """The norm of each unit; it may broadcast."""
        unit = self.unit_axis
        if unit is None:
            unit = 0 if x.ndim > 2 else -1
        axes = [a for a in range(x.ndim) if x.ndim < 2 or a != unit % x.ndim]
        scale = range_scale(x, axis=tuple(axes))
        squares = lax.square(x / scale)
        return scale * lax.sqrt(sum(squares, axis=tuple(axes), keepdims=True))

    def update(self, grad, param):
        largest = self.clipping * jnp.maximum(self.norm(param), self.epsilon)
        norm = self.norm(grad)
        small = float(jnp.finfo(grad.dtype).tiny)
        return grad * jnp.minimum(1.0, largest / jnp.maximum(norm, small))
