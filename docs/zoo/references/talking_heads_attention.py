"""Shazeer et al., 2020, arXiv:2003.02436, section 4."""

import numpy as np

from .common import softmax


def talking_heads_attention(x, memory, P_q, P_k, P_v, P_o, P_l, P_w, mask=None):
    """Without dropout. Also returns what the values are weighted by, (batch, n, m, heads)."""
    q, k, v = (
        np.tensordot(t, p, axes=1) for t, p in ((x, P_q), (memory, P_k), (memory, P_v))
    )
    j = np.einsum("bnhd,bmhd->bnmh", q, k) / np.sqrt(P_q.shape[-1])
    logits = j @ P_l
    if mask is not None:
        logits = np.where(mask[..., None], logits, -1e300)
    weights = softmax(logits, axis=2) @ P_w
    o = np.einsum("bnmv,bmvd->bnvd", weights, v)
    return np.tensordot(o, P_o, axes=2), weights
