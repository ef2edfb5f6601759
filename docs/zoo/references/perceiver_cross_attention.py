"""Jaegle et al., 2021, arXiv:2103.03206, section 3.1."""

import numpy as np

from .common import attention, dense, gelu, layer_norm


def perceiver_cross_attention(
    x, latents, norms, query, key_value, out, mlp, heads, mask=None
):
    """x: (batch, length, in); norms: of latents, inputs, mlp; mlp: two affine maps; mask: (batch, length)."""
    z = np.stack([latents] * x.shape[0])
    q = dense(query, layer_norm(norms["latents"], z))
    both = dense(key_value, layer_norm(norms["inputs"], x))
    features = q.shape[-1]
    k, v = both[..., :features], both[..., features:]
    q, k, v = (t.reshape(*t.shape[:2], heads, features // heads) for t in (q, k, v))
    allowed = None if mask is None else mask[:, None, None, :]
    a = attention(q, k, v, (features // heads) ** -0.5, allowed)
    z = z + dense(out, a.reshape(z.shape))
    return z + dense(mlp[1], gelu(dense(mlp[0], layer_norm(norms["mlp"], z))))
