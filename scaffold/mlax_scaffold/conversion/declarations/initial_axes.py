"""The axes that initializers take for inputs and outputs, which kernels have elsewhere in each library."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import constant, literal

_BY_FANS = frozenset(
    f"@word:{name}"
    for name in (
        *("glorot_normal", "glorot_uniform", "he_normal", "he_uniform"),
        *("kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform"),
        *("xavier_normal", "xavier_uniform", "variance_scaling"),
    )
)
_WINDOWED = ("Conv", "ConvTranspose", "DepthwiseConv", "ConvLocal", "PatchEmbed")
"""Layers whose kernels begin with the axis of outputs."""


def with_axes(
    initializer: ast.expr, layer: str, declared: ast.Call | None, framework: str
) -> ast.expr:
    """An initializer with the axes that a weight has here.

    Args:
        initializer: what a weight begins with.
        layer: the layer of the library whose kernel it is; "" for a weight of its own.
        declared: what declares that layer.
        framework: that of the original.
    """
    if not isinstance(initializer, ast.Call) or not isinstance(
        initializer.func, ast.Name
    ):
        return initializer
    word = initializer.func.id
    given = {k.arg for k in initializer.keywords}
    if word == "@word:orthogonal" and layer in _WINDOWED and "column_axis" not in given:
        return _with(initializer, column_axis=0)
    if word not in _BY_FANS or given & {"in_axis", "out_axis"}:
        return initializer
    torch = framework == "torch"
    if layer in _WINDOWED:
        last = declared is not None and any(
            k.arg == "channel_last" and literal(k.value) is True
            for k in declared.keywords
        )
        # PyTorch counts the outputs of a transposed convolution as its inputs.
        turned = torch and layer == "ConvTranspose"
        inputs, outputs = (-1 if last else 1), 0
        axes = (outputs, inputs) if turned else (inputs, outputs)
        return _with(initializer, in_axis=axes[0], out_axis=axes[1])
    if torch and layer in ("", "Embed"):
        return _with(initializer, in_axis=1, out_axis=0)
    return initializer


def _with(call: ast.Call, **axes: int) -> ast.Call:
    added = [ast.keyword(k, constant(v)) for k, v in axes.items()]
    return ast.Call(call.func, call.args, [*call.keywords, *added])
