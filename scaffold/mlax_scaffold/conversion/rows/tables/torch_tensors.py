"""PyTorch's functions, and the methods of its tensors."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row
from mlax_scaffold.conversion.rows.tables.activations import plain

_REDUCED = "(x, dim=_, keepdim=_, dtype=_)"
_ALIKE = (
    *(
        "abs",
        "exp",
        "log",
        "log1p",
        "log2",
        "log10",
        "expm1",
        "sqrt",
        "sin",
        "cos",
        "tan",
    ),
    *(
        "sinh",
        "cosh",
        "tanh",
        "sign",
        "floor",
        "ceil",
        "round",
        "isnan",
        "isinf",
        "square",
    ),
    *("isfinite", "reciprocal", "logical_not"),
)
_BINARY = ("maximum", "minimum", "logical_and", "logical_or", "outer", "atan2", "fmod")


def _both(name: str, signature: str, text: str) -> dict[str, Row]:
    return {name: Row(signature, text)}


def _windows(dims: int) -> dict[str, Row]:
    """What is done with windows of so many axes."""
    found = {
        f"max_pool{dims}d": Row(
            "(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, "
            "return_indices=False)",
            f"calc.max_pooled(x, kernel_size, stride, padding, {dims}, ceil_mode, dilation)",
        ),
        f"avg_pool{dims}d": Row(
            "(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True)",
            f"calc.avg_pooled(x, kernel_size, stride, padding, {dims}, ceil_mode, "
            "count_include_pad)",
        ),
    }
    found |= {
        f"adaptive_{kind}_pool{dims}d": Row(
            "(x, output_size)",
            f"word.adaptive_pool(x, reduction='{kind}', spatial_dims={dims}, "
            "output_size=output_size)",
        )
        for kind in ("max", "avg")
    }
    return found | {
        f"conv{dims}d": Row(
            "(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)",
            f"calc.channelwise(word.conv(x, weight, spatial_dims={dims}, strides=stride, "
            f"padding=calc.padding(padding), dilation=dilation, groups=groups), bias, {dims})",
        )
    }


METHODS = {
    "item": Row("(x)", "x.reshape(())"),
    "new_zeros": Row(
        "(x, *size, dtype=_)", "calc.filled_like('zeros', x, size, dtype)"
    ),
    "new_ones": Row("(x, *size, dtype=_)", "calc.filled_like('ones', x, size, dtype)"),
    "new_full": Row("(x, size, fill_value)", "jnp.full(size, fill_value, x.dtype)"),
    "new_tensor": Row("(x, value)", "jnp.asarray(value, dtype=x.dtype)"),
    **{n: Row("(x)", f"jnp.{n}(x)") for n in _ALIKE},
    **{n: Row("(x, other)", f"jnp.{n}(x, other)") for n in _BINARY},
    "rsqrt": Row("(x)", "lax.rsqrt(x)"),
    "erf": Row("(x)", "lax.erf(x)"),
    "neg": Row("(x)", "-x"),
    "pow": Row("(x, exponent)", "x**exponent"),
    "add": Row("(x, other, alpha=1)", "calc.scaled(x, other, alpha)"),
    "sub": Row("(x, other, alpha=1)", "calc.less(x, other, alpha)"),
    "mul": Row("(x, other)", "x * other"),
    "div": Row(
        "(x, other, rounding_mode=None)", "calc.quotient(x, other, rounding_mode)"
    ),
    "true_divide": Row("(x, other)", "x / other"),
    "matmul": Row("(x, other)", "jnp.matmul(x, other)"),
    "mm": Row("(x, other)", "calc.of_matrices(x, other)"),
    "spmm": Row("(x, other)", "jnp.einsum('ij,jk->ik', x, other)"),
    "bmm": Row("(x, other)", "jnp.matmul(x, other)"),
    "mv": Row("(x, other)", "jnp.matmul(x, other)"),
    "dot": Row("(x, other)", "jnp.dot(x, other)"),
    "addcmul": Row("(x, a, b, value=1)", "x + value * a * b"),
    "lerp": Row("(x, end, weight)", "x + weight * (end - x)"),
    "view": Row("(x, *shape)", "calc.reshaped(x, shape)"),
    "reshape": Row("(x, *shape)", "calc.reshaped(x, shape)"),
    "view_as": Row("(x, other)", "x.reshape(other.shape)"),
    "reshape_as": Row("(x, other)", "x.reshape(other.shape)"),
    "expand": Row("(x, *sizes)", "calc.expanded(x, sizes)"),
    "expand_as": Row("(x, other)", "jnp.broadcast_to(x, other.shape)"),
    "repeat": Row("(x, *sizes)", "calc.tiled(x, sizes)"),
    "repeat_interleave": Row("(x, repeats, dim=_)", "jnp.repeat(x, repeats, axis=dim)"),
    "permute": Row("(x, *dims)", "calc.permuted(x, dims)"),
    "transpose": Row("(x, dim0, dim1)", "jnp.swapaxes(x, dim0, dim1)"),
    "swapaxes": Row("(x, dim0, dim1)", "jnp.swapaxes(x, dim0, dim1)"),
    "t": Row("(x)", "x.T"),
    "where": Row("(x, condition, other)", "jnp.where(condition, x, other)"),
    "nelement": Row("(x)", "x.size"),
    "is_floating_point": Row("(x)", "jnp.issubdtype(x.dtype, jnp.floating)"),
    "unsafe_chunk": Row("(x, chunks, dim=0)", "jnp.split(x, chunks, axis=dim)"),
    "unsafe_split": Row("(x, split_size, dim=0)", "calc.parts(x, split_size, dim)"),
    "elu": Row("(x)", "jax.nn.elu(x)"),
    "selu": Row("(x)", "jax.nn.selu(x)"),
    "movedim": Row("(x, source, destination)", "jnp.moveaxis(x, source, destination)"),
    "unsqueeze": Row("(x, dim)", "jnp.expand_dims(x, dim)"),
    "squeeze": Row("(x, dim=_)", "jnp.squeeze(x, axis=dim)"),
    "flatten": Row(
        "(x, start_dim=0, end_dim=-1)", "calc.flattened(x, start_dim, end_dim)"
    ),
    "unflatten": Row("(x, dim, sizes)", "calc.unflattened(x, dim, sizes)"),
    "flip": Row("(x, *axes, dims=_)", "calc.flipped(x, axes, dims)"),
    "roll": Row("(x, shifts, dims=_)", "jnp.roll(x, shifts, axis=dims)"),
    "chunk": Row("(x, chunks, dim=0)", "jnp.split(x, chunks, axis=dim)"),
    "split": Row("(x, split_size, dim=0)", "calc.parts(x, split_size, dim)"),
    "unbind": Row("(x, dim=0)", "jnp.unstack(x, axis=dim)"),
    "narrow": Row(
        "(x, dim, start, length)",
        "lax.slice_in_dim(x, start, start + length, axis=dim)",
    ),
    "select": Row("(x, dim, index)", "jnp.take(x, index, axis=dim)"),
    "index_select": Row("(x, dim, index)", "jnp.take(x, index, axis=dim)"),
    "scatter_add": Row(
        "(x, dim, index, src)", "calc.scattered_sum(x, dim, index, src)"
    ),
    "index_add": Row("(x, dim, index, source)", "calc.sum_at(x, dim, index, source)"),
    "gather": Row("(x, dim, index)", "jnp.take_along_axis(x, index, axis=dim)"),
    "mean": Row(_REDUCED, "word.mean(x, axis=dim, keepdims=keepdim)"),
    "sum": Row(_REDUCED, "word.sum(x, axis=dim, keepdims=keepdim)"),
    "prod": Row(_REDUCED, "word.prod(x, axis=dim, keepdims=keepdim)"),
    "var": Row(
        "(x, dim=_, unbiased=True, keepdim=_, correction=_)",
        "calc.unbiased('var', x, dim, keepdim, unbiased, correction)",
    ),
    "std": Row(
        "(x, dim=_, unbiased=True, keepdim=_, correction=_)",
        "calc.unbiased('std', x, dim, keepdim, unbiased, correction)",
    ),
    "norm": Row("(x, p=_, dim=_, keepdim=_)", "calc.norm(x, p, dim, keepdim)"),
    "logsumexp": Row(
        "(x, dim, keepdim=_)", "word.logsumexp(x, axis=dim, keepdims=keepdim)"
    ),
    "amax": Row("(x, dim=_, keepdim=_)", "jnp.max(x, axis=dim, keepdims=keepdim)"),
    "amin": Row("(x, dim=_, keepdim=_)", "jnp.min(x, axis=dim, keepdims=keepdim)"),
    "max": Row(
        "(x, dim=_, keepdim=_, other=_)",
        "calc.extreme('max', x, calc.either(other, dim), keepdim)",
    ),
    "min": Row(
        "(x, dim=_, keepdim=_, other=_)",
        "calc.extreme('min', x, calc.either(other, dim), keepdim)",
    ),
    "argmax": Row("(x, dim=_, keepdim=_)", "jnp.argmax(x, axis=dim, keepdims=keepdim)"),
    "argmin": Row("(x, dim=_, keepdim=_)", "jnp.argmin(x, axis=dim, keepdims=keepdim)"),
    "any": Row("(x, dim=_, keepdim=_)", "jnp.any(x, axis=dim, keepdims=keepdim)"),
    "all": Row("(x, dim=_, keepdim=_)", "jnp.all(x, axis=dim, keepdims=keepdim)"),
    "cumsum": Row("(x, dim, dtype=_)", "calc.so_far('cumsum', x, dim, dtype)"),
    "cumprod": Row("(x, dim, dtype=_)", "calc.so_far('cumprod', x, dim, dtype)"),
    "topk": Row(
        "(x, k, dim=-1, largest=True, sorted=True)", "calc.top_k(x, k, dim, largest)"
    ),
    "sort": Row("(x, dim=-1, descending=False)", "calc.in_order(x, dim, descending)"),
    "argsort": Row("(x, dim=-1, descending=False)", "calc.order(x, dim, descending)"),
    "clamp": Row("(x, min=None, max=None)", "jnp.clip(x, min, max)"),
    "clip": Row("(x, min=None, max=None)", "jnp.clip(x, min, max)"),
    "clamp_min": Row("(x, min)", "jnp.maximum(x, min)"),
    "masked_fill": Row("(x, mask, value)", "jnp.where(mask, value, x)"),
    "softmax": Row("(x, dim, dtype=_)", "word.softmax(x, axis=dim)"),
    "log_softmax": Row("(x, dim, dtype=_)", "word.log_softmax(x, axis=dim)"),
    "sigmoid": Row("(x)", "jax.nn.sigmoid(x)"),
    "relu": Row("(x)", "jax.nn.relu(x)"),
    "type_as": Row("(x, other)", "x.astype(other.dtype)"),
    "size": Row("(x, dim=_)", "calc.size(x, dim)"),
    "dim": Row("(x)", "x.ndim"),
    "numel": Row("(x)", "x.size"),
    "contiguous": Row("(x)", "x"),
    "clone": Row("(x)", "x"),
    "float": Row("(x)", "calc.floating(x)"),
    "to": Row("(x, *args, dtype=_)", "calc.placed(x, args, dtype)"),
    "type": Row("(x, dtype=_)", "calc.typed(x, dtype)"),
    "cuda": Row("(x)", "x"),
    "cpu": Row("(x)", "x"),
    "bool": Row("(x)", "x.astype(bool)"),
    "long": Row("(x)", "x.astype(jnp.int32)"),
    "int": Row("(x)", "x.astype(jnp.int32)"),
    "detach": Row("(x)", "lax.stop_gradient(x)"),
    "tril": Row("(x, diagonal=0)", "jnp.tril(x, diagonal)"),
    "triu": Row("(x, diagonal=0)", "jnp.triu(x, diagonal)"),
    "eq": Row("(x, other)", "x == other"),
    "ne": Row("(x, other)", "x != other"),
    "gt": Row("(x, other)", "x > other"),
    "ge": Row("(x, other)", "x >= other"),
    "lt": Row("(x, other)", "x < other"),
    "le": Row("(x, other)", "x <= other"),
}
"""Methods of tensors; x is the tensor."""

_FUNCTIONAL = {
    **{
        name: Row(
            "(x, dim=None, dtype=_)", f"word.{name}(x, axis=calc.axis_of(x, dim))"
        )
        for name in ("softmax", "log_softmax")
    },
    "gelu": Row("(x, approximate='none')", "calc.gelu_of(x, approximate)"),
    "elu": Row("(x, alpha=1.0)", "jax.nn.elu(x, alpha)"),
    "celu": Row("(x, alpha=1.0)", "jax.nn.celu(x, alpha)"),
    "leaky_relu": Row(
        "(x, negative_slope=0.01)", "jax.nn.leaky_relu(x, negative_slope)"
    ),
    "glu": Row("(x, dim=-1)", "jax.nn.glu(x, axis=dim)"),
    "hardtanh": Row("(x, min_val=-1.0, max_val=1.0)", "jnp.clip(x, min_val, max_val)"),
    "linear": Row("(x, weight, bias=None)", "calc.linear(x, weight, bias)"),
    "embedding": Row("(x, weight)", "word.take_rows(weight, x)"),
    "one_hot": Row("(x, num_classes)", "jax.nn.one_hot(x, num_classes)"),
    "normalize": Row("(x, p=2.0, dim=1, eps=1e-12)", "calc.normalized(x, p, dim, eps)"),
    "layer_norm": Row(
        "(x, normalized_shape, weight=None, bias=None, eps=1e-5)",
        "calc.affine(word.layer_norm(x, axis=calc.last_axes(normalized_shape), epsilon=eps), "
        "weight, bias)",
    ),
    "dropout": Row("(x, p=0.5, training=True)", "calc.dropout(x, p, training)"),
    **{
        f"dropout{n}d": Row(
            "(x, p=0.5, training=True)", f"calc.dropped(x, p, training, {n})"
        )
        for n in (1, 2, 3)
    },
    "alpha_dropout": Row(
        "(x, p=0.5, training=False)", "calc.dropped(x, p, training, 0)"
    ),
    "batch_norm": Row(
        "(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, "
        "eps=1e-5)",
        "calc.with_statistics(x, running_mean, running_var, weight, bias, training, eps)",
    ),
    "scaled_dot_product_attention": Row(
        "(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None)",
        "calc.scaled_attention(query, key, value, attn_mask, is_causal, scale, dropout_p)",
    ),
    **{name: row for dims in (1, 2, 3) for name, row in _windows(dims).items()},
    "pad": Row(
        "(x, pad, mode='constant', value=0)", "calc.padded(x, pad, mode, value)"
    ),
    "lp_pool1d": Row(
        "(x, norm_type, kernel_size, stride=None)",
        "calc.powered_pool(x, norm_type, kernel_size, stride, 1)",
    ),
    "lp_pool2d": Row(
        "(x, norm_type, kernel_size, stride=None)",
        "calc.powered_pool(x, norm_type, kernel_size, stride, 2)",
    ),
    **{
        n: Row(
            "(x, size=None, scale_factor=_, mode='nearest', align_corners=None)",
            "calc.resized(x, size, scale_factor, mode)",
        )
        for n in ("interpolate", "upsample")
    },
    "upsample_nearest": Row(
        "(x, size=None, scale_factor=_)",
        "calc.resized(x, size, scale_factor, 'nearest')",
    ),
    **{name.split(".", 1)[1]: row for name, row in plain("f").items()},
}
_TENSORS = {
    **METHODS,
    "split": Row(
        "(x, split_size_or_sections, dim=0)",
        "calc.parts(x, split_size_or_sections, dim)",
    ),
    "cat": Row("(tensors, dim=0)", "jnp.concatenate(tensors, axis=dim)"),
    "concat": Row("(tensors, dim=0)", "jnp.concatenate(tensors, axis=dim)"),
    "concatenate": Row("(tensors, dim=0)", "jnp.concatenate(tensors, axis=dim)"),
    "stack": Row("(tensors, dim=0)", "jnp.stack(tensors, axis=dim)"),
    "einsum": Row("(equation, *operands)", "calc.contracted(equation, operands)"),
    "where": Row("(condition, x, y)", "jnp.where(condition, x, y)"),
    "selu": Row("(x)", "jax.nn.selu(x)"),
    "celu": Row("(x, alpha=1.0)", "jax.nn.celu(x, alpha)"),
    "dropout": Row("(x, p, train)", "calc.dropout(x, p, train)"),
    "arange": Row(
        "(*args, start=_, end=_, step=_, dtype=_)",
        "jnp.arange(*args, start, end, step, dtype=calc.count(dtype))",
    ),
    "linspace": Row("(start, end, steps)", "jnp.linspace(start, end, steps)"),
    "zeros": Row("(*size, dtype=_)", "calc.filled('zeros', size, dtype)"),
    "ones": Row("(*size, dtype=_)", "calc.filled('ones', size, dtype)"),
    "full": Row("(size, fill_value, dtype=_)", "calc.full(size, fill_value, dtype)"),
    "eye": Row("(n, m=_, dtype=_)", "calc.eye(n, m, dtype)"),
    "zeros_like": Row("(x, dtype=_)", "jnp.zeros_like(x, calc.like(x, dtype))"),
    "ones_like": Row("(x, dtype=_)", "jnp.ones_like(x, calc.like(x, dtype))"),
    "full_like": Row(
        "(x, fill_value, dtype=_)", "jnp.full_like(x, fill_value, calc.count(dtype))"
    ),
    "rand_like": Row("(x)", "jax.random.uniform(self.key(), x.shape, x.dtype)"),
    "randn": Row("(*size)", "calc.drawn_normal(size)"),
    "rand": Row("(*size)", "calc.drawn_uniform(size)"),
    "randn_like": Row("(x)", "jax.random.normal(self.key(), x.shape, x.dtype)"),
    "bernoulli": Row("(p)", "calc.drawn(p)"),
    "multinomial": Row(
        "(input, num_samples)", "calc.drawn_classes(input, num_samples)"
    ),
    "tensor": Row("(value, dtype=_)", "calc.value(value, dtype)"),
    "as_tensor": Row("(value, dtype=_)", "calc.value(value, dtype)"),
    "scalar_tensor": Row("(value, dtype=_)", "calc.value(value, dtype)"),
    "meshgrid": Row("(*args, indexing='ij')", "calc.meshgrid(args, indexing)"),
    "swish": Row("(x)", "jax.nn.silu(x)"),
    "permute": Row("(x, dims)", "jnp.transpose(x, dims)"),
    "polar": Row(
        "(abs, angle)", "lax.complex(abs * jnp.cos(angle), abs * jnp.sin(angle))"
    ),
}
FUNCTIONS = {
    **{f"torch.{name}": row for name, row in _TENSORS.items()},
    **{f"torch.nn.functional.{name}": row for name, row in _FUNCTIONAL.items()},
    "torch.Size": Row("(sizes)", "calc.axes(sizes)"),
    "torch.finfo": Row("(dtype)", "calc.finfo(dtype)"),
    "torch.iinfo": Row("(dtype)", "jnp.iinfo(dtype)"),
    "torch.nn.Transformer.generate_square_subsequent_mask": Row(
        "(sz)", "calc.square_mask(sz)"
    ),
    "torch.nn.init.calculate_gain": Row(
        "(nonlinearity, param=_)", "calc.gain(nonlinearity, param)"
    ),
    "torch.special.erf": METHODS["erf"],
    "torch.linalg.norm": Row(
        "(x, ord=None, dim=_, keepdim=_)", "calc.matrix_norm(x, ord, dim, keepdim)"
    ),
    "torch.linalg.matrix_norm": Row(
        "(x, ord='fro', dim=(-2, -1), keepdim=_)",
        "calc.matrix_norm(x, ord, dim, keepdim)",
    ),
    "torch.linalg.vector_norm": Row(
        "(x, ord=_, dim=_, keepdim=_)", "calc.norm(x, ord, dim, keepdim)"
    ),
}
