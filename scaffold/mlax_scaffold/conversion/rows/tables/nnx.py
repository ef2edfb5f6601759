"""Flax nnx: the layers of linen, with their sizes given."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row
from mlax_scaffold.conversion.rows.tables import flax
from mlax_scaffold.conversion.rows.tables.flax import KERNEL, OUT, OVER

_NORM = "scale_initializer=scale_init, bias_initializer=bias_init"
_LAYERS = {
    "Linear": Row(
        "(in_features, out_features, use_bias=True, kernel_init=_, bias_init=_, precision=_, dot_general=_)",
        "layer.Linear(in_features, out_features, use_bias=use_bias, "
        f"dot_general=calc.unless_none(dot_general), {KERNEL})",
    ),
    "LinearGeneral": Row(
        "(in_features, out_features, axis=-1, batch_axis=_, use_bias=True, kernel_init=_, "
        "bias_init=_, precision=_, dot_general=_)",
        "layer.LinearGeneral(calc.sizes(in_features), calc.sizes(out_features), axis=axis, "
        f"use_bias=use_bias, dot_general=calc.unless_none(dot_general), {KERNEL})",
    ),
    "Conv": Row(
        "(in_features, out_features, kernel_size, strides=1, padding='SAME', input_dilation=1, "
        "kernel_dilation=1, feature_group_count=1, use_bias=True, mask=None, kernel_init=_, "
        "bias_init=_, precision=_, conv_general_dilated=_)",
        "layer.Conv(calc.rank(kernel_size), in_features, out_features, calc.window(kernel_size), "
        "strides=calc.window(strides), padding=padding, dilation=kernel_dilation, "
        "input_dilation=input_dilation, groups=feature_group_count, channel_last=True, "
        "use_bias=use_bias, "
        f"conv_general_dilated=calc.unless_none(conv_general_dilated), {KERNEL})",
    ),
    "ConvTranspose": Row(
        "(in_features, out_features, kernel_size, strides=1, padding='SAME', kernel_dilation=1, "
        "use_bias=True, kernel_init=_, bias_init=_, precision=_, transpose_kernel=False)",
        "layer.ConvTranspose(calc.rank(kernel_size), in_features, out_features, "
        "calc.window(kernel_size), strides=calc.window(strides), padding=padding, "
        "dilation=kernel_dilation, channel_last=True, flip_kernel=transpose_kernel, "
        f"use_bias=use_bias, {KERNEL})",
    ),
    "Embed": Row(
        "(num_embeddings, features, embedding_init=_)",
        "layer.Embed(num_embeddings, features, embedding_initializer=embedding_init)",
    ),
    "LayerNorm": Row(
        "(num_features, epsilon=1e-6, use_bias=True, use_scale=True, bias_init=_, scale_init=_, "
        "reduction_axes=-1, feature_axes=-1, axis_name=_)",
        "layer.LayerNorm(num_features, axis=reduction_axes, use_scale=use_scale, "
        f"use_bias=use_bias, epsilon=epsilon, {OVER}, {_NORM})",
    ),
    "RMSNorm": Row(
        "(num_features, epsilon=1e-6, use_scale=True, scale_init=_, axis_name=_)",
        f"layer.RMSNorm(num_features, use_scale=use_scale, epsilon=epsilon, {OVER}, "
        "scale_initializer=scale_init)",
    ),
    "GroupNorm": Row(
        "(num_features, num_groups=32, group_size=None, epsilon=1e-6, use_bias=True, "
        "use_scale=True, bias_init=_, scale_init=_, axis_name=_)",
        "layer.GroupNorm(calc.groups(num_groups, group_size, num_features), num_features, "
        "channel_last=True, use_scale=use_scale, use_bias=use_bias, epsilon=epsilon, "
        f"{OVER}, {_NORM})",
    ),
    "BatchNorm": Row(
        "(num_features, use_running_average=False, axis=-1, momentum=0.99, epsilon=1e-5, "
        "use_bias=True, use_scale=True, bias_init=_, scale_init=_, axis_name=_)",
        "layer.BatchNorm(num_features, channel_last=True, use_scale=use_scale, "
        f"use_bias=use_bias, momentum=momentum, epsilon=epsilon, {OVER}, {_NORM})",
    ),
    "Dropout": Row(
        "(rate, broadcast_dims=(), deterministic=False)",
        "layer.Dropout(rate, broadcast_axis=broadcast_dims)",
    ),
    "MultiHeadAttention": Row(
        "(num_heads, in_features, qkv_features=_, out_features=_, in_kv_features=_, "
        "broadcast_dropout=True, dropout_rate=0.0, deterministic=False, kernel_init=_, "
        "out_kernel_init=_, bias_init=_, out_bias_init=_, use_bias=True, decode=False, precision=_)",
        "layer.MultiHeadAttention(in_features, num_heads, context_features=in_kv_features, "
        "head_features=calc.share(qkv_features, num_heads, in_features), "
        "out_features=out_features, use_bias=use_bias, dropout_rate=dropout_rate, "
        f"broadcast_dropout=calc.if_dropped(dropout_rate, broadcast_dropout), {OUT}, {KERNEL})",
    ),
    "LSTMCell": Row(
        "(in_features, hidden_features)", "layer.LSTMCell(in_features, hidden_features)"
    ),
    "OptimizedLSTMCell": Row(
        "(in_features, hidden_features)", "layer.LSTMCell(in_features, hidden_features)"
    ),
    "GRUCell": Row(
        "(in_features, hidden_features)", "layer.GRUCell(in_features, hidden_features)"
    ),
    "SimpleCell": Row(
        "(in_features, hidden_features)",
        "layer.SimpleCell(in_features, hidden_features)",
    ),
    "Einsum": Row(
        "(einsum_str, kernel_shape, bias_shape=None, kernel_init=_, bias_init=_, precision=_)",
        f"layer.Einsum(einsum_str, kernel_shape, use_bias=calc.given(bias_shape), {KERNEL})",
    ),
}
LAYERS = {f"flax.nnx.{name}": row for name, row in _LAYERS.items()}
CALLS = flax.CALLS
