"""Equinox: modules for one example, which is mapped over the batch by jax.vmap."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row

_CONV = (
    "(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
    "use_bias=True, padding_mode='ZEROS')"
)


def _conv(dims: str) -> str:
    return (
        f"layer.Conv({dims}, in_channels, out_channels, kernel_size, strides=stride, "
        "padding=calc.padding(padding), padding_mode=calc.lower(padding_mode), "
        "dilation=dilation, groups=groups, use_bias=use_bias)"
    )


def _transposed(dims: int) -> Row:
    return Row(
        "(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, "
        "dilation=1, groups=1, use_bias=True)",
        f"layer.ConvTranspose({dims}, in_channels, out_channels, kernel_size, strides=stride, "
        "padding=calc.padding(padding), output_padding=output_padding, dilation=dilation, "
        "groups=groups, use_bias=use_bias)",
    )


def _pool(name: str, dims: int) -> Row:
    return Row(
        "(kernel_size, stride=1, padding=0, use_ceil=False)",
        f"layer.{name}({dims}, kernel_size, strides=stride, padding=calc.some(padding), "
        "ceil_mode=use_ceil)",
    )


_LAYERS = {
    "Linear": Row(
        "(in_features, out_features, use_bias=True)",
        "layer.Linear(calc.scalar(in_features), calc.scalar(out_features), use_bias=use_bias)",
    ),
    "Identity": Row("(*args)", "layer.Identity()"),
    "Embedding": Row(
        "(num_embeddings, embedding_size)",
        "layer.Embed(num_embeddings, embedding_size)",
    ),
    "Dropout": Row("(p=0.5, inference=False)", "layer.Dropout(p)"),
    "LayerNorm": Row(
        "(shape, eps=1e-5, use_weight=True, use_bias=True)",
        "layer.LayerNorm(calc.innermost(shape), axis=calc.trailing(shape), use_scale=use_weight, "
        "use_bias=use_bias, epsilon=eps, leading_features=calc.outer(shape))",
    ),
    "RMSNorm": Row(
        "(shape, eps=1e-5, use_weight=True, use_bias=True)",
        "layer.RMSNorm(calc.single(shape), use_scale=use_weight, use_bias=use_bias, epsilon=eps)",
    ),
    "GroupNorm": Row(
        "(groups, channels, eps=1e-5, channelwise_affine=True)",
        "layer.GroupNorm(groups, channels, use_scale=channelwise_affine, "
        "use_bias=channelwise_affine, epsilon=eps)",
    ),
    "BatchNorm": Row(
        "(input_size, eps=1e-5, channelwise_affine=True, momentum=0.99, inference=False)",
        "layer.BatchNorm(input_size, use_scale=channelwise_affine, use_bias=channelwise_affine, "
        "momentum=momentum, epsilon=eps)",
    ),
    "MLP": Row(
        "(in_size, out_size, width_size, depth, activation=_, final_activation=_, use_bias=True, "
        "use_final_bias=True)",
        "layer.MLP(calc.scalar(in_size), calc.scalar(out_size), (width_size,) * depth, "
        "activation=activation, final_activation=final_activation, use_bias=use_bias)",
    ),
    "GRUCell": Row(
        "(input_size, hidden_size)", "layer.GRUCell(input_size, hidden_size)"
    ),
    "LSTMCell": Row(
        "(input_size, hidden_size)", "layer.LSTMCell(input_size, hidden_size)"
    ),
    "MultiheadAttention": Row(
        "(num_heads, query_size, key_size=_, value_size=_, output_size=_, qk_size=_, vo_size=_, "
        "use_query_bias=False, use_key_bias=False, use_value_bias=False, use_output_bias=False, "
        "dropout_p=0.0, inference=False)",
        "layer.MultiHeadAttention(query_size, num_heads, context_features=key_size, "
        "value_features=value_size, head_features=qk_size, value_head_features=vo_size, "
        "out_features=output_size, "
        "use_bias=calc.alike(use_query_bias, use_key_bias, use_value_bias, use_output_bias), "
        "query_bias=calc.apart(use_query_bias, use_key_bias, use_value_bias, use_output_bias), "
        "key_bias=calc.apart(use_key_bias, use_query_bias, use_value_bias, use_output_bias), "
        "value_bias=calc.apart(use_value_bias, use_query_bias, use_key_bias, use_output_bias), "
        "out_bias=calc.apart(use_output_bias, use_query_bias, use_key_bias, use_value_bias), "
        "dropout_rate=dropout_p)",
    ),
    "PReLU": Row(
        "(init_alpha=0.25)", "layer.PReLU(slope_initializer=calc.slope(init_alpha))"
    ),
    **{f"Conv{n}d": Row(_CONV, _conv(str(n))) for n in (1, 2, 3)},
    "Conv": Row(
        _CONV.replace("(in", "(num_spatial_dims, in", 1), _conv("num_spatial_dims")
    ),
    **{f"ConvTranspose{n}d": _transposed(n) for n in (1, 2, 3)},
    **{f"MaxPool{n}d": _pool("MaxPool", n) for n in (1, 2, 3)},
    **{f"AvgPool{n}d": _pool("AvgPool", n) for n in (1, 2, 3)},
    **{
        f"Adaptive{kind}Pool{n}d": Row(
            "(target_shape)", f"layer.Adaptive{kind}Pool({n}, target_shape)"
        )
        for kind in ("Avg", "Max")
        for n in (1, 2, 3)
    },
}
LAYERS = {f"equinox.nn.{name}": row for name, row in _LAYERS.items()}

CALLS = {
    "MultiHeadAttention": Row(
        "(f, query, key_, value, mask=_)",
        "calc.attend(f, query, key_, value, _, _, mask)",
    ),
    "BatchNorm": Row("(f, x, inference=_)", "f(x)"),
    "GRUCell": Row("(f, x, h)", "f(x, h)[0]"),
    "LSTMCell": Row("(f, x, hc)", "f(x, calc.swapped(hc))[1][::-1]"),
    # These take a batch, too.
    "GroupNorm": Row("(f, x)", "f(x[None])[0]"),
}
