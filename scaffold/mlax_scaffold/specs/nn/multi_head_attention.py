import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Bool,
    Count,
    DotGeneral,
    DType,
    Float,
    Function,
    Initializer,
    Int,
    Layer,
    Literal,
    Positive,
    Precision,
    Probability,
    Shape,
    Size,
    apply_attention_weights,
    attention_weights,
    dot_product_attention,
    dropout,
    layer_norm,
    lecun_normal,
    make_segment_mask,
    ones,
    require,
    rms_norm,
    state,
    trainable,
    zeros,
)
from mlax_scaffold.specs.nn.linear import Linear


class MultiHeadAttention(Layer, invariances=["causal queries if causal"]):
    """Multi-head attention: of a sequence to itself, or to a context.

    softmax(Q K^T / sqrt(head_features) + bias) V for each head, with Q = x Wq,
    K = context Wk, V = values Wv; the heads are joined and mapped by Wo. Without values
    they are the context, and without a context it is x.

    Vaswani et al., 2017, arXiv:1706.03762. With `kv_heads` it is grouped-query attention
    (Ainslie et al., 2023, arXiv:2305.13245), with one of them multi-query attention
    (Shazeer, 2019, arXiv:1911.02150). A position that may attend to nothing gets zeros
    (before the output's bias), and its gradients are finite.

    With `max_length` it decodes: at inference it keeps the keys and values of what it
    was given, so that a sequence may come token by token, or in chunks, and the state
    that `init` returned begins another one. Context and values, where there are any,
    come with x, position by position. Positions beyond `max_length` are NaN. The weights
    of a layer without a cache fit one with a cache.

    With `keys_before` a query attends to so many positions before its own (sliding-window
    attention). Of sequences that are packed into one, `segments` has the number of its
    sequence for each position, and `key_segments` for each key, of the cache where there
    is one; a query attends to its own segment.

    `attention_function` is called as `functional.dot_product_attention` is, in its place:
    `functional.fused_attention`, or one's own. `with_weights` also returns the attention
    weights of each head, those that values were multiplied by.
    """

    features: Size  #: size of the last axis of the input
    heads: Size  #: number of heads
    context_features: Size | None = None  #: size of the context's axis; None: features
    #: size of the axis of the values; None: that of the context
    value_features: Size | None = None
    kv_heads: Size | None = None  #: heads of keys and values; None: heads
    head_features: Size | None = None  #: of a query and a key; None: features / heads
    value_head_features: Size | None = None  #: of a value; None: head_features
    out_features: Size | None = None  #: size of the output's axis; None: features
    use_bias: bool = True  #: whether the four maps add a bias
    causal: bool = False  #: whether position i attends to positions up to i only
    dropout_rate: Probability = 0.0  #: of the attention weights, in training
    broadcast_dropout: bool = False  #: whether batch and heads share what is dropped
    qk_norm: Literal["layer", "rms"] | None = None  #: norm of queries and of keys
    rotary: Function | None = None  #: of queries or keys, and their positions
    max_length: Size | None = None  #: length of the cache; then it is causal
    batch: Shape | None = None  #: axes before the positions, which a cache needs
    cache_dtype: DType | None = None  #: dtype of the cache; None: that of the weights
    chunk_size: Size | None = None  #: see `chunked_attention`; None: all at once
    accum_dtype: DType | None = None  #: dtype of softmax and norms; None: that of x
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    keys_before: Count | None = None  #: how far back a query reaches; None: to all
    keys_after: Count | None = None  #: how far it reaches ahead; None: to all
    soft_cap: Positive | None = None  #: see `cap_softly`; None: logits are not capped
    query_bias: bool | None = None  #: whether queries add a bias; None: use_bias
    key_bias: bool | None = None  #: the same of keys
    value_bias: bool | None = None  #: the same of values
    out_bias: bool | None = None  #: the same of the output
    #: in the place of `dot_product_attention`, called as that is; None: that
    attention_function: Function | None = None
    dot_general: DotGeneral = lax.dot_general  #: what multiplies in the four maps
    kernel_initializer: Initializer = lecun_normal()  #: of the kernels
    bias_initializer: Initializer = zeros  #: of the biases
    out_kernel_initializer: Initializer | None = None  #: None: kernel_initializer
    out_bias_initializer: Initializer | None = None  #: None: bias_initializer

    def setup(self):
        require(
            self.head_features is not None or self.features % self.heads == 0,
            "heads must divide features, or head_features is given",
        )
        groups = self.kv_heads or self.heads
        require(self.heads % groups == 0, "kv_heads must divide heads")
        require(
            self.max_length is None or self.batch is not None,
            "a cache of max_length needs batch, the axes before the positions",
        )
        size = self.head_features or self.features // self.heads
        value_size = self.value_head_features or size
        source = self.context_features or self.features
        value_source = self.value_features or source
        self.source_features: int = source
        self.value_source_features: int = value_source
        self.result_features: int = self.out_features or self.features
        self.query_shape: tuple[int, int] = (self.heads, size)
        self.key_shape: tuple[int, int] = (groups, size)
        self.value_shape: tuple[int, int] = (groups, value_size)
        self.to_query = Linear(
            self.features,
            self.heads * size,
            self.use_bias if self.query_bias is None else self.query_bias,
            self.precision,
            dot_general=self.dot_general,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
        )
        self.to_key = Linear(
            source,
            groups * size,
            self.use_bias if self.key_bias is None else self.key_bias,
            self.precision,
            dot_general=self.dot_general,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
        )
        self.to_value = Linear(
            value_source,
            groups * value_size,
            self.use_bias if self.value_bias is None else self.value_bias,
            self.precision,
            dot_general=self.dot_general,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
        )
        self.to_output = Linear(
            self.heads * value_size,
            self.result_features,
            self.use_bias if self.out_bias is None else self.out_bias,
            self.precision,
            dot_general=self.dot_general,
            kernel_initializer=self.out_kernel_initializer or self.kernel_initializer,
            bias_initializer=self.out_bias_initializer or self.bias_initializer,
        )
        self.query_scale = trainable(ones, (size,)) if self.qk_norm else None
        self.key_scale = trainable(ones, (size,)) if self.qk_norm else None
        self.cached_keys = (
            state(
                zeros,
                (*(self.batch or ()), self.max_length, groups, size),
                self.cache_dtype,
            )
            if self.max_length
            else None
        )
        self.cached_values = (
            state(
                zeros,
                (*(self.batch or ()), self.max_length, groups, value_size),
                self.cache_dtype,
            )
            if self.max_length
            else None
        )
        self.cached = state(zeros, (), jnp.int32) if self.max_length else None

    def forward(
        self,
        x: Float["*batch queries features"],
        *,
        context: Float["*batch keys source_features"] | None = None,
        values: Float["*batch keys value_source_features"] | None = None,
        mask: Bool["# *batch heads queries keys"] | None = None,
        bias: Float["# *batch heads queries keys"] | None = None,
        positions: Int["# *batch queries"] | None = None,
        segments: Int["*batch queries"] | None = None,
        key_segments: Int["*batch _"] | None = None,
    ) -> Float["*batch queries result_features"]:
        q, k, v, mask, reach = self._prepared(
            x, context, values, mask, bias, positions, segments, key_segments
        )
        dropout_key = None
        if self.training and self.dropout_rate > 0.0:
            dropout_key = self.key()
        attend = self.attention_function or dot_product_attention
        y = attend(
            q,
            k,
            v,
            mask,
            bias,
            dropout_key,
            **reach,
            soft_cap=self.soft_cap,
            dropout_rate=self.dropout_rate,
            broadcast_dropout=self.broadcast_dropout,
            chunk_size=self.chunk_size,
            accum_dtype=self.accum_dtype,
            precision=self.precision,
        )
        return self._joined(y)

    def with_weights(
        self,
        x: Float["*batch queries features"],
        *,
        context: Float["*batch keys source_features"] | None = None,
        values: Float["*batch keys value_source_features"] | None = None,
        mask: Bool["# *batch heads queries keys"] | None = None,
        bias: Float["# *batch heads queries keys"] | None = None,
        positions: Int["# *batch queries"] | None = None,
        segments: Int["*batch queries"] | None = None,
        key_segments: Int["*batch _"] | None = None,
    ) -> tuple[
        Float["*batch queries result_features"], Float["*batch heads queries _"]
    ]:
        """The result, and the attention weights that values were multiplied by."""
        require(
            self.attention_function is None,
            "an attention_function has no weights to return",
        )
        q, k, v, mask, reach = self._prepared(
            x, context, values, mask, bias, positions, segments, key_segments
        )
        weights = attention_weights(
            q,
            k,
            mask,
            bias,
            **reach,
            soft_cap=self.soft_cap,
            accum_dtype=self.accum_dtype,
            precision=self.precision,
        )
        if self.training and self.dropout_rate > 0.0:
            weights = dropout(
                weights,
                self.key(),
                rate=self.dropout_rate,
                broadcast_axis=tuple(range(weights.ndim - 2))
                if self.broadcast_dropout
                else (),
            )
        y = apply_attention_weights(weights, v, precision=self.precision)
        return self._joined(y), weights

    def _prepared(
        self, x, context, values, mask, bias, positions, segments, key_segments
    ):
        """Queries, keys and values of each head, and what may attend to what."""
        # Where there is a cache, its length is that of the keys in mask and bias.
        source = x if context is None else context
        value_source = source if values is None else values
        require(
            source.shape[-1] == self.source_features,
            "without a context, context_features must be features",
        )
        require(
            value_source.shape[-1] == self.value_source_features,
            "without values, value_features must be the size of the context's axis",
        )
        require(
            value_source.shape[-2] == source.shape[-2],
            "there must be a value for each key",
        )
        require(
            self.max_length is None or source.shape[-2] == x.shape[-2],
            "with a cache the context has the positions of x",
        )
        first, length = 0, source.shape[-2]
        if self.cached is not None and self.max_length is not None:
            if not self.training:
                first, length = self.cached, self.max_length
            require(
                self.training or x.shape[-2] <= self.max_length,
                "there are at most max_length positions at a time",
            )
        for part in (mask, bias):
            require(
                part is None or part.shape[-1:] in ((), (1,), (length,)),
                "the last axis of mask and bias is that of the keys",
            )
        if segments is not None:
            others = segments if key_segments is None else key_segments
            require(
                others.shape[-1] == length,
                "without key_segments there are as many keys as queries",
            )
            same = make_segment_mask(segments, others)
            mask = same if mask is None else mask & same
        q = self.to_query(x).reshape(*x.shape[:-1], *self.query_shape)
        k = self.to_key(source).reshape(*source.shape[:-1], *self.key_shape)
        v = self.to_value(value_source)
        v = v.reshape(*value_source.shape[:-1], *self.value_shape)
        if self.qk_norm is not None:
            norm = layer_norm if self.qk_norm == "layer" else rms_norm
            q = norm(q, axis=-1, epsilon=1e-6, accum_dtype=self.accum_dtype)
            k = norm(k, axis=-1, epsilon=1e-6, accum_dtype=self.accum_dtype)
            if self.query_scale is not None and self.key_scale is not None:
                q, k = q * self.query_scale, k * self.key_scale
        at = first + jnp.arange(x.shape[-2], dtype=jnp.int32)
        if self.rotary is not None:
            own = at if positions is None else positions
            q = self.rotary(q, own)
            with_x = context is None or self.max_length is not None
            k = self.rotary(k, own if with_x else jnp.arange(length))
        causal = self.causal or self.max_length is not None
        before, after = self.keys_before, self.keys_after
        if (
            self.cached is not None
            and self.cached_keys is not None
            and self.cached_values is not None
            and not self.training
        ):
            # A narrower cache rounds what is kept, and not what is attended to now.
            k = lax.dynamic_update_slice_in_dim(self.cached_keys, k, first, axis=-3)
            v = lax.dynamic_update_slice_in_dim(self.cached_values, v, first, axis=-3)
            self.cached_keys = k
            self.cached_values = v
            self.cached = first + x.shape[-2]
            of_keys = jnp.arange(length, dtype=jnp.int32)
            allowed = of_keys <= at[:, None]
            if before is not None:
                allowed = allowed & (of_keys >= at[:, None] - before)
            mask = allowed if mask is None else mask & allowed
            causal, before, after = False, None, None
        reach = {"causal": causal, "keys_before": before, "keys_after": after}
        return q, k, v, mask, reach

    def _joined(self, y):
        """The heads of each position, mapped to the output."""
        if (
            self.cached is not None
            and self.max_length is not None
            and not self.training
        ):
            fits = jnp.less_equal(self.cached, self.max_length)
            # NaN where it does not; where it does, `jax_debug_nans` meets none.
            one = fits.astype(y.dtype)
            y = y * (one / one)
        size = self.heads * self.value_shape[1]
        return self.to_output(y.reshape(*y.shape[:-2], size))
