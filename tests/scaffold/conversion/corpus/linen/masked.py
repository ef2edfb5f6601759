"""Blocks that are given a mask."""

import flax.linen as nn
import jax.numpy as jnp


class MaskedBlock(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x, mask=None):
        y = nn.LayerNorm()(x)
        y = nn.MultiHeadDotProductAttention(num_heads=self.heads)(y, y, mask=mask)
        return x + y


class MaskedAttention(nn.Module):
    heads: int
    head_dim: int

    @nn.compact
    def __call__(self, x, mask=None):
        b, t, d = x.shape
        q = nn.DenseGeneral((self.heads, self.head_dim))(x)
        k = nn.DenseGeneral((self.heads, self.head_dim))(x)
        v = nn.DenseGeneral((self.heads, self.head_dim))(x)
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(self.head_dim)
        if mask is not None:
            s = jnp.where(mask, s, -1e9)
        return nn.DenseGeneral(d, axis=(-2, -1))(
            jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(s), v)
        )
