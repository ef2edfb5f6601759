from mlax_scaffold.spec import (
    Activation,
    Bool,
    Count,
    DType,
    Float,
    Function,
    Initializer,
    Int,
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


class TransformerEncoderLayer(Layer):
    """Self-attention and a feed-forward network, each with a norm and a residual.

    With `norm_first` y = x + f(norm(x)) for both (Xiong et al., 2020, arXiv:2002.04745,
    which trains without warm-up), else y = norm(x + f(x)) as in Vaswani et al., 2017,
    arXiv:1706.03762. With `causal` it is the layer of a decoder without context.
    With `max_length` it decodes token by token, and with `segments` sequences are packed
    into one, see MultiHeadAttention.
    """

    features: Size  #: size of the last axis of the input and of the output
    heads: Size  #: number of heads; divides features
    hidden_features: Size  #: size between the maps of the feed-forward network
    activation: Activation = gelu  #: of the feed-forward network
    norm_first: bool = True  #: whether norms stand before what they belong to
    causal: bool = False  #: whether position i attends to positions up to i only
    kv_heads: Size | None = None  #: heads of keys and values; None: heads
    rotary: Function | None = None  #: of queries or keys, and their positions
    max_length: Size | None = None  #: length of the cache; then it is causal
    batch: Shape | None = None  #: axes before the positions, which a cache needs
    cache_dtype: DType | None = None  #: dtype of the cache; None: that of the weights
    dropout_rate: Probability = 0.0  #: of weights, hidden elements and both results
    use_bias: bool = True  #: whether maps and norms add a bias
    accum_dtype: DType | None = None  #: of softmax and norms; None: that of x
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    kernel_initializer: Initializer = lecun_normal()  #: of the kernels
    bias_initializer: Initializer = zeros  #: of the biases
    keys_before: Count | None = None  #: how far back a query reaches; None: to all
    keys_after: Count | None = None  #: how far it reaches ahead; None: to all
    soft_cap: Positive | None = None  #: see `cap_softly`; None: logits are not capped
    #: of the attention, see MultiHeadAttention; None: `dot_product_attention`
    attention_function: Function | None = None

    def setup(self):
        common = {"use_bias": self.use_bias}
        inner = {
            **common,
            "dropout_rate": self.dropout_rate,
            "precision": self.precision,
            "kernel_initializer": self.kernel_initializer,
            "bias_initializer": self.bias_initializer,
        }
        self.attention = MultiHeadAttention(
            self.features,
            self.heads,
            causal=self.causal,
            kv_heads=self.kv_heads,
            rotary=self.rotary,
            max_length=self.max_length,
            batch=self.batch,
            cache_dtype=self.cache_dtype,
            keys_before=self.keys_before,
            keys_after=self.keys_after,
            soft_cap=self.soft_cap,
            attention_function=self.attention_function,
            accum_dtype=self.accum_dtype,
            **inner,
        )
        self.feed_forward = FeedForward(
            self.features, self.hidden_features, self.activation, **inner
        )
        norm = {**common, "accum_dtype": self.accum_dtype}
        self.attention_norm = LayerNorm(self.features, **norm)
        self.feed_forward_norm = LayerNorm(self.features, **norm)
        self.dropout = Dropout(self.dropout_rate)

    def forward(
        self,
        x: Float["*batch positions features"],
        *,
        mask: Bool["# *batch heads positions keys"] | None = None,
        segments: Int["*batch positions"] | None = None,
        key_segments: Int["*batch _"] | None = None,
    ) -> Float["*batch positions features"]:
        if self.norm_first:
            y = self.attention_norm(x)
            y = self.attention(
                y, mask=mask, segments=segments, key_segments=key_segments
            )
            x = x + self.dropout(y)
            y = self.feed_forward(self.feed_forward_norm(x))
            return x + self.dropout(y)
        y = self.attention(x, mask=mask, segments=segments, key_segments=key_segments)
        x = self.attention_norm(x + self.dropout(y))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
