import jax.numpy as jnp

from mlax_scaffold.spec import (
    Bool,
    Float,
    Layer,
    Probability,
    Size,
    dropout,
    glorot_normal,
    orthogonal,
    softmax,
    trainable,
)


class TalkingHeadsAttention(Layer):
    """Attention whose heads are mixed before and after the softmax.

    Shazeer et al., 2020, Talking-Heads Attention, arXiv:2003.02436.

    The three numbers of heads of the paper: `key_heads` of queries and keys, `heads` in
    the softmax, `value_heads` of values.
    """

    in_features: Size  #: channels of the queries' input
    memory_features: Size  #: channels of the memory
    out_features: Size  #: channels of the result
    head_dim: Size  #: size of each head
    key_heads: Size = 4
    heads: Size = 4
    value_heads: Size = 4
    dropout_rate: Probability = 0.0  #: dropout of the attention weights

    def setup(self):
        self.P_q = trainable(glorot_normal(), (self.in_features, self.key_heads, self.head_dim))
        self.P_k = trainable(glorot_normal(), (self.memory_features, self.key_heads, self.head_dim))
        self.P_v = trainable(glorot_normal(), (self.memory_features, self.value_heads, self.head_dim))
        self.P_o = trainable(glorot_normal(), (self.value_heads, self.head_dim, self.out_features))
        self.P_l = trainable(orthogonal(), (self.key_heads, self.heads))
        self.P_w = trainable(orthogonal(), (self.heads, self.value_heads))

    def forward(
        self,
        x: Float["batch n in_features"],
        memory: Float["batch m memory_features"],
        *,
        mask: Bool["batch n m"] | None = None,
    ) -> tuple[Float["batch n out_features"], Float["batch n m value_heads"]]:
        q = jnp.einsum("bnx,xhd->bnhd", x, self.P_q)
        k = jnp.einsum("bmx,xhd->bmhd", memory, self.P_k)
        v = jnp.einsum("bmx,xhd->bmhd", memory, self.P_v)
        j = jnp.einsum("bnhd,bmhd->bnmh", q, k) * self.head_dim**-0.5
        logits = jnp.einsum("bnmh,hg->bnmg", j, self.P_l)
        if mask is not None:
            logits = jnp.where(mask[..., None], logits, jnp.finfo(logits.dtype).min)
        weights = softmax(logits, axis=2)
        u = jnp.einsum("bnmg,gv->bnmv", weights, self.P_w)
        if self.training and self.dropout_rate > 0:
            u = dropout(u, self.key(), rate=self.dropout_rate)
        o = jnp.einsum("bnmv,bmvd->bnvd", u, v)
        return jnp.einsum("bnvd,vdo->bno", o, self.P_o), u
