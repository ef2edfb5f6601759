"""Haiku."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row

_NORM = "scale_initializer=scale_init, bias_initializer=offset_init"
_KERNEL = "kernel_initializer=w_init, bias_initializer=b_init"


def _conv(dims: int) -> Row:
    return Row(
        "(output_channels, kernel_shape, stride=1, rate=1, padding='SAME', with_bias=True, "
        f"w_init=_, b_init=_, data_format='{_FORMATS[dims]}', mask=None, feature_group_count=1)",
        f"layer.Conv({dims}, calc.channels(data_format), output_channels, kernel_shape, "
        "strides=stride, padding=padding, dilation=rate, groups=feature_group_count, "
        f"channel_last=calc.channel_last(data_format), use_bias=with_bias, {_KERNEL})",
    )


def _transposed(dims: int) -> Row:
    return Row(
        "(output_channels, kernel_shape, stride=1, output_shape=None, padding='SAME', "
        f"with_bias=True, w_init=_, b_init=_, data_format='{_FORMATS[dims]}', mask=None)",
        f"layer.ConvTranspose({dims}, calc.channels(data_format), output_channels, kernel_shape, "
        "strides=stride, padding=padding, channel_last=calc.channel_last(data_format), "
        f"use_bias=with_bias, {_KERNEL})",
    )


_FORMATS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_LAYERS = {
    "Linear": Row(
        "(output_size, with_bias=True, w_init=_, b_init=_)",
        f"layer.Linear(calc.last(), output_size, use_bias=with_bias, {_KERNEL})",
    ),
    **{f"Conv{n}D": _conv(n) for n in (1, 2, 3)},
    **{f"Conv{n}DTranspose": _transposed(n) for n in (1, 2, 3)},
    "LayerNorm": Row(
        "(axis, create_scale, create_offset, eps=1e-5, scale_init=_, offset_init=_, "
        "param_axis=-1)",
        "layer.LayerNorm(calc.last(), axis=axis, use_scale=create_scale, "
        f"use_bias=create_offset, epsilon=eps, {_NORM})",
    ),
    "RMSNorm": Row(
        "(axis=-1, eps=1e-5, scale_init=_, create_scale=True)",
        "layer.RMSNorm(calc.last(), axis=axis, use_scale=create_scale, epsilon=eps, "
        "scale_initializer=scale_init)",
    ),
    "GroupNorm": Row(
        "(groups, axis=_, create_scale=True, create_offset=True, eps=1e-5)",
        "layer.GroupNorm(groups, calc.last(), channel_last=True, use_scale=create_scale, "
        "use_bias=create_offset, epsilon=eps)",
    ),
    "BatchNorm": Row(
        "(create_scale, create_offset, decay_rate, eps=1e-5, scale_init=_, offset_init=_, "
        "cross_replica_axis=_)",
        "layer.BatchNorm(calc.last(), channel_last=True, use_scale=create_scale, "
        "use_bias=create_offset, momentum=decay_rate, epsilon=eps, "
        f"axis_name=calc.axis_name(cross_replica_axis), {_NORM})",
    ),
    "Embed": Row(
        "(vocab_size, embed_dim, w_init=_)",
        "layer.Embed(vocab_size, embed_dim, embedding_initializer=w_init)",
    ),
    "Bias": Row("()", "layer.Bias(calc.last())"),
    "Flatten": Row("(preserve_dims=1)", "layer.Flatten(batch_dims=preserve_dims)"),
    "MultiHeadAttention": Row(
        "(num_heads, key_size, w_init_scale=_, w_init=_, with_bias=True, b_init=_, value_size=_, "
        "model_size=_)",
        "layer.MultiHeadAttention(calc.last(), num_heads, head_features=key_size, "
        "value_head_features=value_size, "
        "out_features=calc.product(model_size, num_heads, key_size), use_bias=with_bias, "
        "kernel_initializer=calc.scaled_by(w_init, w_init_scale), bias_initializer=b_init)",
    ),
    "nets.MLP": Row(
        "(output_sizes, w_init=_, b_init=_, with_bias=True, activation=_, activate_final=False)",
        "layer.MLP(calc.last(), calc.final(output_sizes), calc.before_final(output_sizes), "
        "activation=activation, final_activation=calc.final_activation(activate_final, activation), "
        f"use_bias=with_bias, {_KERNEL})",
    ),
    "LSTM": Row("(hidden_size)", "layer.LSTMCell(calc.last(), hidden_size)"),
    "GRU": Row(
        "(hidden_size)", "layer.GRUCell(calc.last(), hidden_size, reset_after=False)"
    ),
    **{
        kind: Row(
            "(window_shape, strides, padding, channel_axis=-1)",
            f"layer.{kind}(calc.pool_rank(window_shape), calc.pool_window(window_shape), "
            "strides=calc.pool_window(strides), padding=padding, channel_last=True)",
        )
        for kind in ("MaxPool", "AvgPool")
    },
}
LAYERS = {f"haiku.{name}": row for name, row in _LAYERS.items()}

CALLS = {
    "MultiHeadAttention": Row(
        "(f, query, key, value, mask=_)",
        "calc.attend(f, query, key, value, _, _, mask)",
    ),
    "BatchNorm": Row("(f, x, is_training=_, test_local_stats=False)", "f(x)"),
    "GRUCell": Row("(f, x, h)", "f(x, h)"),
    "LSTMCell": Row("(f, x, hc)", "f(x, hc)"),
    "MLP": Row("(f, x, dropout_rate=None)", "f(x)"),
}

_POOL = "(value, window_shape, strides, padding, channel_axis=-1)"
FUNCTIONS = {
    **{
        f"haiku.{kind}": Row(
            _POOL,
            f"word.{kind}(value, spatial_dims=calc.pool_rank(window_shape), "
            "window=calc.pool_window(window_shape), strides=calc.pool_window(strides), "
            "padding=padding, channel_last=True)",
        )
        for kind in ("max_pool", "avg_pool")
    },
    "haiku.dropout": Row("(rng, rate, x, broadcast_dims=())", "calc.dropout(x, rate)"),
    "haiku.next_rng_key": Row("()", "self.key()"),
    "haiku.one_hot": Row("(x, num_classes, dtype=_)", "jax.nn.one_hot(x, num_classes)"),
}
