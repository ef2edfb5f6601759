"""PyTorch's modules."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row
from mlax_scaffold.conversion.rows.tables.activations import CLASSES, PLAIN

_CONV = (
    "(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
    "bias=True, padding_mode='zeros')"
)
_NORM = "(num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True)"
_INSTANCE_NORM = _NORM.replace("=True", "=False")


def _conv(dims: int, channels: str = "in_channels") -> str:
    return (
        f"layer.Conv({dims}, {channels}, out_channels, kernel_size, strides=stride, "
        "padding=calc.padding(padding), padding_mode=padding_mode, dilation=dilation, "
        "groups=groups, use_bias=bias)"
    )


def _transposed(dims: int) -> Row:
    return Row(
        "(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, "
        "bias=True, dilation=1)",
        f"layer.ConvTranspose({dims}, in_channels, out_channels, kernel_size, strides=stride, "
        "padding=calc.padding(padding), output_padding=output_padding, dilation=dilation, "
        "groups=groups, flip_kernel=True, use_bias=bias)",
    )


def _dims(dims: int) -> dict[str, Row]:
    spatial = tuple(range(2, dims + 2))
    return {
        f"Conv{dims}d": Row(_CONV, _conv(dims)),
        f"LazyConv{dims}d": Row(
            _CONV.replace("in_channels, ", ""), _conv(dims, "calc.second()")
        ),
        f"ConvTranspose{dims}d": _transposed(dims),
        f"BatchNorm{dims}d": Row(
            _NORM,
            "layer.BatchNorm(num_features, use_scale=affine, use_bias=affine, "
            "momentum=calc.rest(momentum), epsilon=eps)",
        ),
        f"InstanceNorm{dims}d": Row(
            _INSTANCE_NORM,
            "layer.InstanceNorm(num_features, use_scale=affine, use_bias=affine, epsilon=eps)",
        ),
        f"MaxPool{dims}d": Row(
            "(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, "
            "ceil_mode=False)",
            f"layer.MaxPool({dims}, kernel_size, strides=calc.either(stride, kernel_size), "
            "padding=calc.some(padding), dilation=dilation, ceil_mode=ceil_mode)",
        ),
        f"AvgPool{dims}d": Row(
            "(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True)",
            f"layer.AvgPool({dims}, kernel_size, strides=calc.either(stride, kernel_size), "
            "padding=calc.some(padding), ceil_mode=ceil_mode, "
            "count_include_pad=calc.counted(ceil_mode, padding, count_include_pad))",
        ),
        f"AdaptiveAvgPool{dims}d": Row(
            "(output_size)", f"layer.AdaptiveAvgPool({dims}, output_size)"
        ),
        f"AdaptiveMaxPool{dims}d": Row(
            "(output_size, return_indices=False)",
            f"layer.AdaptiveMaxPool({dims}, output_size)",
        ),
        f"Dropout{dims}d": Row(
            "(p=0.5)", f"layer.Dropout(p, broadcast_axis={spatial})"
        ),
    }


_PADS = {
    "Zero": "constant",
    "Constant": "constant",
    "Reflection": "reflect",
    "Replication": "replicate",
    "Circular": "circular",
}
_LAYERS = {
    "Linear": Row(
        "(in_features, out_features, bias=True)",
        "layer.Linear(in_features, out_features, use_bias=bias)",
    ),
    "LazyLinear": Row(
        "(out_features, bias=True)",
        "layer.Linear(calc.last(), out_features, use_bias=bias)",
    ),
    "Bilinear": Row(
        "(in1_features, in2_features, out_features, bias=True)",
        "layer.Bilinear(in1_features, in2_features, out_features, use_bias=bias)",
    ),
    "Embedding": Row(
        "(num_embeddings, embedding_dim, padding_idx=None, *, sparse=False)",
        "layer.Embed(num_embeddings, embedding_dim)",
    ),
    "LayerNorm": Row(
        "(normalized_shape, eps=1e-5, elementwise_affine=True, bias=True)",
        "layer.LayerNorm(calc.innermost(normalized_shape), axis=calc.trailing(normalized_shape), "
        "use_scale=elementwise_affine, use_bias=calc.both(elementwise_affine, bias), epsilon=eps, "
        "leading_features=calc.outer(normalized_shape))",
    ),
    "RMSNorm": Row(
        "(normalized_shape, eps=1.1920929e-07, elementwise_affine=True)",
        "layer.RMSNorm(calc.single(normalized_shape), use_scale=elementwise_affine, epsilon=eps)",
    ),
    "GroupNorm": Row(
        "(num_groups, num_channels, eps=1e-5, affine=True)",
        "layer.GroupNorm(num_groups, num_channels, use_scale=affine, use_bias=affine, epsilon=eps)",
    ),
    "Dropout": Row("(p=0.5, inplace=_)", "layer.Dropout(p)"),
    "AlphaDropout": Row("(p=0.5)", "layer.AlphaDropout(p)"),
    "Identity": Row("(*args)", "layer.Identity()"),
    "Flatten": Row(
        "(start_dim=1, end_dim=-1)", "calc.flattening(start_dim, end_dim)", "either"
    ),
    "PReLU": Row(
        "(num_parameters=1, init=0.25)",
        "layer.PReLU(num_parameters, axis=1, slope_initializer=calc.slope(init))",
    ),
    "PixelShuffle": Row("(upscale_factor)", "layer.PixelShuffle(2, upscale_factor)"),
    **{
        f"LPPool{n}d": Row(
            "(norm_type, kernel_size, stride=None)",
            f"calc.power_pool(norm_type, kernel_size, stride, {n})",
            "function",
        )
        for n in (1, 2)
    },
    "Upsample": Row(
        "(size=None, scale_factor=_, mode='nearest', align_corners=None)",
        "layer.Upsample(calc.upsampled(mode), calc.whole(scale_factor), method=calc.method(mode))",
    ),
    "UpsamplingNearest2d": Row(
        "(size=None, scale_factor=_)", "layer.Upsample(2, calc.whole(scale_factor))"
    ),
    "MultiheadAttention": Row(
        "(embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, "
        "kdim=_, vdim=_, batch_first=False)",
        "layer.MultiHeadAttention(embed_dim, num_heads, context_features=kdim, "
        "value_features=vdim, use_bias=bias, dropout_rate=calc.batch_first(dropout, batch_first))",
    ),
    "GRUCell": Row(
        "(input_size, hidden_size, bias=True)",
        "layer.GRUCell(input_size, hidden_size, use_bias=bias)",
    ),
    "LSTMCell": Row(
        "(input_size, hidden_size, bias=True)",
        "layer.LSTMCell(input_size, hidden_size, use_bias=bias)",
    ),
    "TransformerEncoderLayer": Row(
        "(d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', "
        "layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True)",
        "layer.TransformerEncoderLayer(d_model, nhead, dim_feedforward, "
        "activation=calc.named(activation), norm_first=norm_first, "
        "dropout_rate=calc.batch_first(dropout, batch_first), use_bias=bias)",
    ),
    **{key: row for dims in (1, 2, 3) for key, row in _dims(dims).items()},
    **{
        name: Row("(inplace=_)", PLAIN[plain], "function")
        for name, plain in CLASSES.items()
    },
    "GELU": Row("(approximate='none')", "calc.gelu(approximate)", "function"),
    "ELU": Row("(alpha=1.0, inplace=_)", "jax.nn.elu(x, alpha)", "function"),
    "CELU": Row("(alpha=1.0, inplace=_)", "jax.nn.celu(x, alpha)", "function"),
    "LeakyReLU": Row(
        "(negative_slope=0.01, inplace=_)",
        "jax.nn.leaky_relu(x, negative_slope)",
        "function",
    ),
    "GLU": Row("(dim=-1)", "jax.nn.glu(x, axis=dim)", "function"),
    "Hardtanh": Row(
        "(min_val=-1.0, max_val=1.0)", "jnp.clip(x, min_val, max_val)", "function"
    ),
    "Softmax": Row(
        "(dim=None)", "word.softmax(x, axis=calc.axis_of_x(dim))", "function"
    ),
    "LogSoftmax": Row(
        "(dim=None)", "word.log_softmax(x, axis=calc.axis_of_x(dim))", "function"
    ),
    "Softplus": Row("(beta=1.0, threshold=20.0)", "calc.softplus(beta)", "function"),
    "Unflatten": Row(
        "(dim, unflattened_size)",
        "calc.unflattened_of_x(dim, unflattened_size)",
        "function",
    ),
    **{
        f"{title}Pad{n}d": Row(
            f"(padding{', value=0' if title == 'Constant' else ''})",
            f"calc.sides_padded(padding, {n}, {mode!r}, {'value' if title == 'Constant' else 0})",
            "function",
        )
        for title, mode in _PADS.items()
        for n in (1, 2, 3)
    },
}
LAYERS = {f"torch.nn.{name}": row for name, row in _LAYERS.items()} | {
    "flax.nnx.identity": Row("()", "x", "function"),
    **dict.fromkeys(
        ("timm.layers.DropPath", "timm.models.layers.DropPath"),
        Row("(drop_prob=0.0, scale_by_keep=True)", "layer.DropPath(drop_prob)"),
    ),
}

FUNCTIONS = {
    f"{module}.to_{n}tuple": Row("(x)", f"calc.repeated(x, {n})")
    for module in ("timm.layers", "timm.layers.helpers", "timm.models.layers")
    for n in (1, 2, 3, 4)
}
"""What models of images take from timm, beside layers."""

CALLS = {
    "MultiHeadAttention": Row(
        "(f, query, key, value, key_padding_mask=_, need_weights=_, attn_mask=_, average_attn_weights=_, "
        "is_causal=_, bias=_)",
        "calc.attended(calc.attend(f, query, key, value, _, _, calc.both_allowed(attn_mask, "
        "key_padding_mask), bias), need_weights)",
    ),
    "TransformerEncoderLayer": Row(
        "(f, src, src_mask=_, src_key_padding_mask=_, is_causal=_)",
        "calc.encoded(f, src, src_mask, src_key_padding_mask)",
    ),
    "GRUCell": Row("(f, x, h)", "f(x, h)[0]"),
    "LSTMCell": Row("(f, x, hc)", "f(x, calc.swapped(hc))[1][::-1]"),
}
