import jax.numpy as jnp

from mlax_scaffold.spec import (
    Bool,
    DType,
    Float,
    Layer,
    Precision,
    Probability,
    Size,
    apply_attention_mask,
    apply_attention_weights,
    dot_product_attention_logits,
    dropout,
    require,
    softmax,
)
from mlax_scaffold.specs.nn.linear import Linear


class MultiHeadAttention(Layer):
    """Multi-head attention: of a sequence to itself, or to a context.

    softmax(Q K^T / sqrt(head_features)) V for each head, with Q = x Wq, K = context Wk,
    V = context Wv; the heads are joined and mapped by Wo.

    Vaswani et al., 2017, arXiv:1706.03762. A position that may attend to nothing gets
    zeros (before the output's bias), and its gradients are finite.
    """

    features: Size  #: size of the last axis of the input and of the output
    heads: Size  #: number of heads; divides features
    context_features: Size | None = None  #: size of the context's axis; None: features
    use_bias: bool = True  #: whether the four maps add a bias
    causal: bool = False  #: whether position i attends to positions up to i only
    dropout_rate: Probability = 0.0  #: of the attention weights, in training
    accum_dtype: DType | None = None  #: dtype of the softmax; None: that of x
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        require(self.features % self.heads == 0, "heads must divide features")
        self.head_features = self.features // self.heads
        size = self.features
        self.source_features: int = self.context_features or size
        self.to_query = Linear(size, size, self.use_bias, self.precision)
        self.to_key = Linear(self.source_features, size, self.use_bias, self.precision)
        self.to_value = Linear(
            self.source_features, size, self.use_bias, self.precision
        )
        self.to_output = Linear(size, size, self.use_bias, self.precision)

    def forward(
        self,
        x: Float["*batch queries features"],
        *,
        context: Float["*batch keys source_features"] | None = None,
        mask: Bool["... #queries #keys"] | None = None,
    ) -> Float["*batch queries features"]:
        # The mask broadcasts to (*batch, heads, queries, keys).
        require(
            context is not None or self.source_features == self.features,
            "self-attention needs context_features to be features",
        )
        source = x if context is None else context
        require(
            mask is None or mask.shape[-1] in (1, source.shape[-2]),
            "the last axis of the mask is that of the keys",
        )
        per_head = (self.heads, self.head_features)
        q = self.to_query(x).reshape(*x.shape[:-1], *per_head)
        k = self.to_key(source).reshape(*source.shape[:-1], *per_head)
        v = self.to_value(source).reshape(*source.shape[:-1], *per_head)
        logits = dot_product_attention_logits(q, k, precision=self.precision)
        if self.causal:
            allowed = jnp.tri(x.shape[-2], source.shape[-2], dtype=bool)
            mask = allowed if mask is None else mask & allowed
        if mask is not None:
            logits = apply_attention_mask(logits, mask)
        weights = softmax(logits, axis=-1, accum_dtype=self.accum_dtype)
        if self.training and self.dropout_rate > 0.0:
            weights = dropout(weights, self.key(), rate=self.dropout_rate)
        y = apply_attention_weights(weights, v, precision=self.precision)
        return self.to_output(y.reshape(x.shape))
