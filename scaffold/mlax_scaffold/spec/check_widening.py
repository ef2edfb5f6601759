"""The functions that compute half precision in float32, and the strict words for them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.model.definition import Import
from mlax_scaffold.spec.parse_source import dotted, self_attribute

WIDENING = {
    "jax.numpy.average": "mean",
    "jax.numpy.linalg.norm": "l2_norm",
    "jax.numpy.mean": "mean",
    "jax.numpy.median": "moments",
    "jax.numpy.nansum": "sum",
    "jax.numpy.prod": "prod",
    "jax.numpy.std": "std",
    "jax.numpy.sum": "sum",
    "jax.numpy.trapezoid": "sum",
    "jax.numpy.var": "var",
    "jax.nn.dot_product_attention": "dot_product_attention",
    "jax.nn.log1mexp": "log1mexp",
    "jax.nn.log_softmax": "log_softmax",
    "jax.nn.logmeanexp": "logmeanexp",
    "jax.nn.logsumexp": "logsumexp",
    "jax.nn.softmax": "softmax",
    "jax.nn.standardize": "standardize",
    "jax.random.bernoulli": "bernoulli",
    "jax.random.rademacher": "bernoulli",
    "jax.scipy.special.logsumexp": "logsumexp",
}
"""Functions that compute half-precision input in float32, and the strict word to use."""

_WIDENING_METHODS = {
    "mean": "mean",
    "prod": "prod",
    "std": "std",
    "sum": "sum",
    "var": "var",
}
"""The same as methods of arrays."""


def strict_word(function: ast.expr, imports: Mapping[str, Import]) -> str | None:
    """The strict word for a function that widens; None for any other.

    Functions are known by their qualified names, whatever they are imported as.
    """
    root, _, rest = (dotted(function) or "").partition(".")
    imported = imports.get(root)
    if imported is not None:
        parts = (imported.module, imported.attribute, rest)
        return WIDENING.get(".".join(filter(None, parts)))
    if isinstance(function, ast.Attribute) and self_attribute(function) is None:
        return _WIDENING_METHODS.get(function.attr)
    return None
