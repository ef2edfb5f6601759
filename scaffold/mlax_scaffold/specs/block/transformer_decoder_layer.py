from mlax_scaffold.spec import (
    Activation,
    Bool,
    Count,
    DType,
    Float,
    Function,
    Initializer,
    Layer,
    Positive,
    Precision,
    Probability,
    Shape,
    Size,
    gelu,
    lecun_normal,
    zeros,
)
from mlax_scaffold.specs.block.feed_forward import FeedForward
from mlax_scaffold.specs.nn.dropout import Dropout
from mlax_scaffold.specs.nn.layer_norm import LayerNorm
from mlax_scaffold.specs.nn.multi_head_attention import MultiHeadAttention


class TransformerDecoderLayer(Layer):
    """Causal self-attention, attention to a context, and a feed-forward network.

    Each has a norm and a residual: with `norm_first` y = x + f(norm(x)) (Xiong et al.,
    2020, arXiv:2002.04745), else y = norm(x + f(x)) as in Vaswani et al., 2017,
    arXiv:1706.03762. Without a context, what attends to it is left out.
    With `max_length` it decodes token by token, see MultiHeadAttention.
    """

    features: Size  #: size of the last axis of the input and of the output
    heads: Size  #: number of heads; divides features
    hidden_features: Size  #: size between the maps of the feed-forward network
    context_features: Size | None = None  #: size of the context's axis; None: features
    activation: Activation = gelu  #: of the feed-forward network
    norm_first: bool = True  #: whether norms stand before what they belong to
    kv_heads: Size | None = None  #: heads of keys and values; None: heads
    rotary: Function | None = None  #: of queries or keys, and their positions
    max_length: Size | None = None  #: length of the cache; then it is causal
    batch: Shape | None = None  #: axes before the positions, which a cache needs
    cache_dtype: DType | None = None  #: dtype of the cache; None: that of the weights
    dropout_rate: Probability = 0.0  #: of weights, hidden elements and results
    use_bias: bool = True  #: whether maps and norms add a bias
    accum_dtype: DType | None = None  #: of softmax and norms; None: that of x
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    kernel_initializer: Initializer = lecun_normal()  #: of the kernels
    bias_initializer: Initializer = zeros  #: of the biases
    keys_before: Count | None = None  #: how far back a position reaches; None: to all
    soft_cap: Positive | None = None  #: see `cap_softly`; None: logits are not capped
    #: of the attention, see MultiHeadAttention; None: `dot_product_attention`
    attention_function: Function | None = None

    def setup(self):
        size, bias, wide = self.features, self.use_bias, self.accum_dtype
        inner = {
            "use_bias": bias,
            "dropout_rate": self.dropout_rate,
            "precision": self.precision,
            "kernel_initializer": self.kernel_initializer,
            "bias_initializer": self.bias_initializer,
        }
        shared = {
            **inner,
            "accum_dtype": wide,
            "kv_heads": self.kv_heads,
            "soft_cap": self.soft_cap,
            "attention_function": self.attention_function,
        }
        norm = {"use_bias": bias, "accum_dtype": wide}
        self.source_features: int = self.context_features or size
        self.attention = MultiHeadAttention(
            size,
            self.heads,
            causal=True,
            rotary=self.rotary,
            max_length=self.max_length,
            batch=self.batch,
            cache_dtype=self.cache_dtype,
            keys_before=self.keys_before,
            **shared,
        )
        self.context_attention = MultiHeadAttention(
            size, self.heads, self.source_features, **shared
        )
        self.feed_forward = FeedForward(
            size, self.hidden_features, self.activation, **inner
        )
        self.attention_norm = LayerNorm(size, **norm)
        self.context_norm = LayerNorm(size, **norm)
        self.feed_forward_norm = LayerNorm(size, **norm)
        self.dropout = Dropout(self.dropout_rate)

    def forward(
        self,
        x: Float["*batch positions features"],
        *,
        context: Float["*batch keys source_features"] | None = None,
        mask: Bool["# *batch heads positions own_keys"] | None = None,
        context_mask: Bool["# *batch heads positions keys"] | None = None,
    ) -> Float["*batch positions features"]:
        if self.norm_first:
            y = self.attention(self.attention_norm(x), mask=mask)
            x = x + self.dropout(y)
            if context is not None:
                y = self.context_norm(x)
                y = self.context_attention(y, context=context, mask=context_mask)
                x = x + self.dropout(y)
            y = self.feed_forward(self.feed_forward_norm(x))
            return x + self.dropout(y)
        x = self.attention_norm(x + self.dropout(self.attention(x, mask=mask)))
        if context is not None:
            y = self.context_attention(x, context=context, mask=context_mask)
            x = self.context_norm(x + self.dropout(y))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
