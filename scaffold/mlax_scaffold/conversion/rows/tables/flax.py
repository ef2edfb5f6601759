"""Flax linen."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row
from mlax_scaffold.conversion.rows.tables.activations import plain

KERNEL = (
    "kernel_initializer=kernel_init, bias_initializer=bias_init, "
    "precision=calc.unless_none(precision)"
)
OUT = (
    "out_kernel_initializer=calc.unless_none(out_kernel_init), "
    "out_bias_initializer=calc.unless_none(out_bias_init)"
)
OVER = "axis_name=calc.axis_name(axis_name)"
_LAYERS = {
    "Dense": Row(
        "(features, use_bias=True, kernel_init=_, bias_init=_, precision=_, dot_general=_, "
        "dot_general_cls=None)",
        "layer.Linear(calc.last(), features, use_bias=use_bias, "
        f"dot_general=calc.unless_none(dot_general), {KERNEL})",
    ),
    "DenseGeneral": Row(
        "(features, axis=-1, batch_dims=(), use_bias=True, kernel_init=_, bias_init=_, "
        "precision=_, dot_general=_, dot_general_cls=None)",
        "calc.dense_general(features, axis, use_bias, dot_general, precision, kernel_init, "
        "bias_init)",
    ),
    "Conv": Row(
        "(features, kernel_size, strides=1, padding='SAME', input_dilation=1, kernel_dilation=1, "
        "feature_group_count=1, use_bias=True, mask=None, kernel_init=_, bias_init=_, "
        "precision=_, conv_general_dilated=_, conv_general_dilated_cls=None)",
        "layer.Conv(calc.rank(kernel_size), calc.last(), features, calc.window(kernel_size), "
        "strides=calc.window(strides), padding=padding, dilation=kernel_dilation, "
        "input_dilation=input_dilation, groups=feature_group_count, channel_last=True, "
        "use_bias=use_bias, "
        f"conv_general_dilated=calc.unless_none(conv_general_dilated), {KERNEL})",
    ),
    "ConvTranspose": Row(
        "(features, kernel_size, strides=1, padding='SAME', kernel_dilation=1, use_bias=True, "
        "kernel_init=_, bias_init=_, precision=_, transpose_kernel=False)",
        "layer.ConvTranspose(calc.rank(kernel_size), calc.last(), features, "
        "calc.window(kernel_size), strides=calc.window(strides), padding=padding, "
        "dilation=kernel_dilation, channel_last=True, flip_kernel=transpose_kernel, "
        f"use_bias=use_bias, {KERNEL})",
    ),
    "Embed": Row(
        "(num_embeddings, features, embedding_init=_)",
        "layer.Embed(num_embeddings, features, embedding_initializer=embedding_init)",
    ),
    "LayerNorm": Row(
        "(epsilon=1e-6, use_bias=True, use_scale=True, bias_init=_, scale_init=_, "
        "reduction_axes=-1, feature_axes=-1, axis_name=_)",
        "layer.LayerNorm(calc.last(), axis=reduction_axes, use_scale=use_scale, use_bias=use_bias, "
        f"epsilon=epsilon, {OVER}, "
        "scale_initializer=scale_init, bias_initializer=bias_init)",
    ),
    "RMSNorm": Row(
        "(epsilon=1e-6, use_scale=True, scale_init=_, reduction_axes=-1, axis_name=_)",
        f"layer.RMSNorm(calc.last(), use_scale=use_scale, epsilon=epsilon, {OVER}, "
        "scale_initializer=scale_init)",
    ),
    "GroupNorm": Row(
        "(num_groups=32, group_size=None, epsilon=1e-6, use_bias=True, use_scale=True, bias_init=_, "
        "scale_init=_, axis_name=_)",
        f"layer.GroupNorm(calc.groups(num_groups, group_size), calc.last(), {OVER}, "
        "channel_last=True, "
        "use_scale=use_scale, use_bias=use_bias, epsilon=epsilon, scale_initializer=scale_init, "
        "bias_initializer=bias_init)",
    ),
    "InstanceNorm": Row(
        "(epsilon=1e-6, use_bias=True, use_scale=True)",
        "layer.InstanceNorm(calc.last(), channel_last=True, use_scale=use_scale, "
        "use_bias=use_bias, epsilon=epsilon)",
    ),
    "BatchNorm": Row(
        "(use_running_average=_, axis=-1, momentum=0.99, epsilon=1e-5, use_bias=True, "
        "use_scale=True, bias_init=_, scale_init=_, axis_name=_)",
        "layer.BatchNorm(calc.last(), channel_last=True, use_scale=use_scale, use_bias=use_bias, "
        f"{OVER}, "
        "momentum=momentum, epsilon=epsilon, scale_initializer=scale_init, "
        "bias_initializer=bias_init)",
    ),
    "Dropout": Row(
        "(rate, broadcast_dims=(), deterministic=_)",
        "layer.Dropout(rate, broadcast_axis=broadcast_dims)",
    ),
    "MultiHeadDotProductAttention": Row(
        "(num_heads, qkv_features=_, out_features=_, broadcast_dropout=True, dropout_rate=0.0, "
        "deterministic=_, kernel_init=_, out_kernel_init=_, bias_init=_, out_bias_init=_, "
        "use_bias=True, decode=False, normalize_qk=False, precision=_)",
        "layer.MultiHeadAttention(calc.last(), num_heads, "
        "head_features=calc.share(qkv_features, num_heads), out_features=out_features, "
        "use_bias=use_bias, dropout_rate=dropout_rate, "
        f"broadcast_dropout=calc.if_dropped(dropout_rate, broadcast_dropout), {OUT}, {KERNEL})",
    ),
    "LSTMCell": Row("(features)", "layer.LSTMCell(calc.last(), features)"),
    "OptimizedLSTMCell": Row("(features)", "layer.LSTMCell(calc.last(), features)"),
    "GRUCell": Row("(features)", "layer.GRUCell(calc.last(), features)"),
    "SimpleCell": Row("(features)", "layer.SimpleCell(calc.last(), features)"),
    "PReLU": Row(
        "(negative_slope_init=0.01)",
        "layer.PReLU(slope_initializer=calc.slope(negative_slope_init))",
    ),
}
LAYERS = {f"flax.linen.{name}": row for name, row in _LAYERS.items()}
LAYERS["flax.linen.SelfAttention"] = _LAYERS["MultiHeadDotProductAttention"]
LAYERS["flax.linen.MultiHeadAttention"] = _LAYERS["MultiHeadDotProductAttention"]

CALLS = {
    "MultiHeadAttention": Row(
        "(f, inputs_q, k=_, v=_, inputs_k=_, inputs_v=_, mask=_, deterministic=_, sow_weights=_, "
        "decode=False, is_causal=False, inputs_kv=_)",
        "calc.attend(f, inputs_q, k, v, calc.either(inputs_k, inputs_kv), "
        "calc.either(inputs_v, inputs_kv), "
        "calc.causal(mask, is_causal, inputs_q, k, inputs_k))",
    ),
    "LSTMCell": Row("(f, carry, x)", "f(x, carry)[::-1]"),
    "GRUCell": Row("(f, carry, x)", "f(x, carry)[::-1]"),
    "SimpleCell": Row("(f, carry, x)", "f(x, carry)[::-1]"),
    "BatchNorm": Row("(f, x, use_running_average=_, mask=_)", "f(x)"),
    "Dropout": Row("(f, x, deterministic=_, rng=_)", "f(x)"),
}

_POOL = "(x, window_shape, strides=_, padding='VALID'{})"


def _pool(word: str, extra: str = "") -> Row:
    given = "count_include_pad=count_include_pad" if extra else ""
    return Row(
        _POOL.format(extra),
        f"word.{word}(x, spatial_dims=calc.rank(window_shape), window=window_shape, "
        f"strides=strides, padding=padding, channel_last=True, {given})",
    )


_FUNCTIONS = {
    "max_pool": _pool("max_pool"),
    "min_pool": _pool("min_pool"),
    "avg_pool": _pool("avg_pool", ", count_include_pad=True"),
    "gelu": Row("(x, approximate=True)", "word.gelu(x, approximate=approximate)"),
    "leaky_relu": Row(
        "(x, negative_slope=_)", "jax.nn.leaky_relu(x, negative_slope=negative_slope)"
    ),
    "elu": Row("(x, alpha=_)", "jax.nn.elu(x, alpha=alpha)"),
    "celu": Row("(x, alpha=_)", "jax.nn.celu(x, alpha=alpha)"),
    "glu": Row("(x, axis=_)", "jax.nn.glu(x, axis=axis)"),
    "one_hot": Row(
        "(x, num_classes, axis=_)", "jax.nn.one_hot(x, num_classes, axis=axis)"
    ),
    "softmax": Row("(x, axis=_)", "word.softmax(x, axis=axis)"),
    "log_softmax": Row("(x, axis=_)", "word.log_softmax(x, axis=axis)"),
    "logsumexp": Row(
        "(a, axis=_, b=_, keepdims=_)",
        "word.logsumexp(a, axis=axis, keepdims=keepdims)",
    ),
    "standardize": Row(
        "(x, axis=_, epsilon=_)", "word.standardize(x, axis=axis, epsilon=epsilon)"
    ),
    "dot_product_attention": Row(
        "(query, key, value, bias=_, mask=_, broadcast_dropout=True, dropout_rng=_, "
        "dropout_rate=0.0, deterministic=_, precision=_)",
        "calc.attention_of_flax(query, key, value, mask, bias, dropout_rate, broadcast_dropout)",
    ),
    "dot_product_attention_weights": Row(
        "(query, key, bias=_, mask=_, broadcast_dropout=True, dropout_rng=_, "
        "dropout_rate=0.0, deterministic=_, dtype=_, precision=_)",
        "calc.attention_weights(query, key, mask, bias, dropout_rate)",
    ),
    "make_attention_mask": Row(
        "(query_input, key_input, pairwise_fn=_, extra_batch_dims=0, dtype=_)",
        "calc.as_mask(calc.pairwise(query_input, key_input, pairwise_fn)[..., None, :, :], dtype)",
    ),
    "combine_masks": Row(
        "(*masks, dtype=_)", "calc.as_mask(calc.combined(masks), dtype)"
    ),
    "make_causal_mask": Row(
        "(x, extra_batch_dims=0, dtype=_)",
        "calc.as_mask(jnp.tril(jnp.ones((*x.shape[:-1], 1, x.shape[-1], x.shape[-1]), bool)), dtype)",
    ),
}
_PREFIXES = (
    *("flax.linen", "flax.linen.activation", "flax.linen.attention", "flax.nnx"),
)
FUNCTIONS = {
    f"{p}.{name}": row for p in _PREFIXES for name, row in _FUNCTIONS.items()
} | plain(*_PREFIXES)
FUNCTIONS["jax.nn.gelu"] = _FUNCTIONS["gelu"]
