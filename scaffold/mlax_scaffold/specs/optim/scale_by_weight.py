from typing import Literal

import jax.numpy as jnp

from mlax_scaffold.spec import NonNegative, Optimizer, l2_norm, rms, saturate


class ScaleByWeight(Optimizer):
    """Multiplies each update by the size of its weight.

    update = u max(size(w), min_scale), where the size is the root mean square, or the
    norm.

    As Shazeer & Stern, 2018, arXiv:1804.04235, whose relative steps are of the root mean
    square. TrustRatio divides by the norm of the update, too.
    """

    size: Literal["rms", "norm"] = "rms"  #: the root mean square, or the norm
    min_scale: NonNegative = 1e-3  #: the smallest factor

    def update(self, grad, param):
        size = rms(param) if self.size == "rms" else l2_norm(param)
        return saturate(jnp.maximum(saturate(size), self.min_scale) * grad)
