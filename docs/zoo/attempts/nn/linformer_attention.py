import math

import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, glorot_uniform, softmax, trainable
from mlax_scaffold.specs.nn.linear import Linear


class LinformerAttention(Layer):
    """Self-attention of linear complexity: keys and values are projected along the length.

    Wang et al., 2020, Linformer: Self-Attention with Linear Complexity, arXiv:2006.04768.
    """

    features: Size  #: size of the last axis
    length: Size  #: length of sequences
    projected: Size  #: k, the length that keys and values are projected to
    num_heads: Size = 1  #: number of heads
    share_kv: bool = False  #: whether keys and values share the projection

    def setup(self):
        self.qkv = Linear(self.features, 3 * self.features, use_bias=False)
        self.out = Linear(self.features, self.features)
        self.E = trainable(glorot_uniform(), (self.projected, self.length))
        self.F = (
            self.E
            if self.share_kv
            else trainable(glorot_uniform(), (self.projected, self.length))
        )

    def forward(self, x: Float["batch length features"]) -> Float["batch length features"]:
        batch, length, features = x.shape
        q, k, v = jnp.split(self.qkv(x), 3, axis=-1)
        k = jnp.einsum("kl,blf->bkf", self.E, k)
        v = jnp.einsum("kl,blf->bkf", self.F, v)
        q, k, v = (t.reshape(batch, -1, self.num_heads, features // self.num_heads) for t in (q, k, v))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(features // self.num_heads)
        y = jnp.einsum("bhqk,bkhd->bqhd", softmax(scores, axis=-1), v)
        return self.out(y.reshape(batch, length, features))
