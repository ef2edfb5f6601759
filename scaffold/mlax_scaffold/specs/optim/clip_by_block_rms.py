import jax.numpy as jnp

from mlax_scaffold.spec import DType, Optimizer, Positive, rms


class ClipByBlockRms(Optimizer):
    """Scales each gradient so that its root mean square is at most a threshold.

    update = g / max(1, rms(g) / threshold), for each weight by itself. Shazeer & Stern,
    2018, arXiv:1804.04235, section 6.
    """

    threshold: Positive  #: the largest root mean square
    accum_dtype: DType | None = None  #: dtype of the squares; None: of the gradient

    def update(self, grad, param):
        if grad.size == 0:
            return grad
        wide = grad.astype(self.accum_dtype or grad.dtype)
        return grad / jnp.maximum(1.0, rms(wide) / self.threshold).astype(grad.dtype)
