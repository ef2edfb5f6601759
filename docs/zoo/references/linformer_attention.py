"""Wang et al., 2020, arXiv:2006.04768, equation 7."""

import numpy as np

from .common import attention, dense


def linformer_attention(x, qkv, out, E, F, heads):
    """x: (batch, length, f); qkv: a kernel (f, 3 f); out: an affine map; E, F: (projected, length)."""
    q, k, v = np.split(x @ qkv, 3, axis=-1)
    k, v = E @ k, F @ v
    size = x.shape[-1] // heads
    q, k, v = (t.reshape(*t.shape[:2], heads, size) for t in (q, k, v))
    return dense(out, attention(q, k, v, size**-0.5).reshape(x.shape))
