"""What makes an initializer: those of jax, which flax shares, and those of haiku."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row

_FANS = "(in_axis=_, out_axis=_, batch_axis=_, dtype=_)"
_ARGS = "in_axis=in_axis, out_axis=out_axis, batch_axis=batch_axis"
_ALIKE = (
    *("glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal"),
    *("kaiming_uniform", "lecun_normal", "lecun_uniform", "xavier_normal"),
    "xavier_uniform",
)
_JAX = {
    **{name: Row(_FANS, f"word.{name}({_ARGS})") for name in _ALIKE},
    # The words have other defaults.
    "normal": Row("(stddev=0.01, dtype=_)", "word.normal(stddev)"),
    "truncated_normal": Row(
        "(stddev=0.01, dtype=_, lower=_, upper=_)",
        "word.truncated_normal(stddev, lower=lower, upper=upper)",
    ),
    "uniform": Row("(scale=0.01, dtype=_)", "word.uniform(scale)"),
    "constant": Row("(value, dtype=_)", "word.constant(value)"),
    "orthogonal": Row(
        "(scale=_, column_axis=_, dtype=_)",
        "word.orthogonal(scale=scale, column_axis=column_axis)",
    ),
    "delta_orthogonal": Row(
        "(scale=_, column_axis=_, dtype=_)",
        "word.delta_orthogonal(scale=scale, column_axis=column_axis)",
    ),
    "variance_scaling": Row(
        "(scale, mode, distribution, in_axis=_, out_axis=_, batch_axis=_, dtype=_)",
        f"word.variance_scaling(scale, mode, distribution, {_ARGS})",
    ),
    "zeros_init": Row("()", "word.zeros"),
    "ones_init": Row("()", "word.ones"),
    "constant_init": Row("(value)", "word.constant(value)"),
}
_PREFIXES = (
    *("jax.nn.initializers", "flax.linen.initializers", "flax.linen"),
    *("flax.nnx.initializers", "flax.nnx"),
)
MAKERS = {f"{p}.{name}": row for p in _PREFIXES for name, row in _JAX.items()} | {
    "haiku.initializers.Constant": Row("(constant)", "word.constant(constant)"),
    "haiku.initializers.RandomNormal": Row(
        "(stddev=1.0, mean=0.0)", "calc.normal_about(mean, stddev)"
    ),
    "haiku.initializers.TruncatedNormal": Row(
        "(stddev=1.0, mean=0.0)", "calc.truncated_about(mean, stddev)"
    ),
    "haiku.initializers.RandomUniform": Row(
        "(minval=0.0, maxval=1.0)", "calc.random_uniform(minval, maxval)"
    ),
    "haiku.initializers.VarianceScaling": Row(
        "(scale=1.0, mode='fan_in', distribution='truncated_normal')",
        "word.variance_scaling(scale, mode, distribution)",
    ),
    "haiku.initializers.Orthogonal": Row(
        "(scale=1.0, axis=-1)", "word.orthogonal(scale)"
    ),
}

VALUES = {
    f"{prefix}.{name}": word
    for prefix in _PREFIXES
    for name, word in (("zeros", "zeros"), ("ones", "ones"))
} | {"jax.numpy.zeros": "zeros", "jax.numpy.ones": "ones"}
"""Initializers that need not be made."""

IN_PLACE = {
    "zeros_": Row("(w)", "word.zeros"),
    "ones_": Row("(w)", "word.ones"),
    "constant_": Row("(w, val)", "word.constant(val)"),
    "normal_": Row("(w, mean=0.0, std=1.0)", "calc.normal_about(mean, std)"),
    "trunc_normal_": Row(
        "(w, mean=0.0, std=1.0, a=_, b=_)", "calc.truncated(mean, std, a, b)"
    ),
    "uniform_": Row("(w, a=0.0, b=1.0)", "calc.random_uniform(a, b)"),
    "xavier_uniform_": Row("(w, gain=1.0)", "calc.xavier(gain, 'uniform')"),
    "xavier_normal_": Row("(w, gain=1.0)", "calc.xavier(gain, 'normal')"),
    "kaiming_uniform_": Row(
        "(w, a=0, mode='fan_in', nonlinearity='leaky_relu')",
        "calc.kaiming(a, mode, nonlinearity, 'uniform')",
    ),
    "kaiming_normal_": Row(
        "(w, a=0, mode='fan_in', nonlinearity='leaky_relu')",
        "calc.kaiming(a, mode, nonlinearity, 'normal')",
    ),
    "orthogonal_": Row("(w, gain=1.0)", "word.orthogonal(gain)"),
    "fill_": Row("(w, val)", "word.constant(val)"),
    "zero_": Row("(w)", "word.zeros"),
}
"""PyTorch's functions that fill a weight, by name."""
