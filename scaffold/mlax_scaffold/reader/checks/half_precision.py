"""Finds functions that jax has for numbers of 32 bits and more alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source

_NAMES = {
    "jax.numpy.linalg": [
        *("cholesky", "cond", "det", "eigh", "eigvalsh", "inv", "lstsq", "matrix_rank"),
        *("pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensorinv"),
        "tensorsolve",
    ],
    "jax.scipy.linalg": [
        *("block_cholesky", "cho_factor", "cho_solve", "cholesky", "det", "eigh"),
        *("expm", "inv", "lu", "lu_factor", "lu_solve", "polar", "qr", "solve"),
        *("solve_triangular", "sqrtm", "svd"),
    ],
    "jax.lax.linalg": [
        *("cholesky", "eigh", "lu", "qr", "svd", "triangular_solve", "tridiagonal"),
    ],
}
_WIDENED = {
    "jax.numpy": [
        *("corrcoef", "cov", "interp", "median", "nanmedian", "nanpercentile"),
        *("nanquantile", "percentile", "polyfit", "quantile", "trapezoid"),
    ],
    "jax.scipy.special": [
        *("dawsn", "erfcx", "exp1", "expi", "expn", "fresnel", "multigammaln"),
        *("owens_t", "zeta"),
    ],
}
"""Functions that no strict word stands for, and that compute half precision in float32 themselves."""
_ADDING = frozenset(("jax.lax.cumlogsumexp", "jax.numpy.nancumsum"))
"""Those that add numbers of half precision one after another."""
_SILENT = frozenset(f"{m}.{name}" for m, names in _WIDENED.items() for name in names)
_WIDE_ALONE = frozenset(f"{m}.{name}" for m, names in _NAMES.items() for name in names)


def check_half_precision(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jnp.linalg.solve`, `jnp.median` and their kin.

    What is cast is none, nor is one that `widened` is given.
    """
    # Most methods name none, which is known without looking for casts.
    if not any(_is_wide_alone(node, imports) for node in walk(method)):
        return
    for node in _uses(method, method, imports):
        needed = word(source, "widened")
        text = f"{needed.bound}({unparsed(node)})"
        name = qualified(node, imports)
        what = "has no half precision"
        if name in _SILENT:
            what = "computes half-precision input in float32"
        elif name in _ADDING:
            what = "adds numbers of half precision one after another"
        source.report(
            node,
            f"`{unparsed(node)}` {what}",
            f"Write `{text}`, which computes it in float32 there, and casts what it returns back.",
            fix=Fix((source.edit(node, text),), (needed,)),
        )


def _uses(
    node: ast.AST, method: ast.FunctionDef, imports: Mapping[str, Import]
) -> Iterator[ast.expr]:
    match node:
        case ast.Call(args=[given, *_]) if _is_cast(given, method):
            return
        case ast.Call(func=ast.Name(id="widened")):
            return
        case ast.Attribute() | ast.Name() if _is_wide_alone(node, imports):
            yield node
            return
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, method, imports)


def _is_wide_alone(node: ast.AST, imports: Mapping[str, Import]) -> bool:
    return (
        isinstance(node, ast.Attribute | ast.Name)
        and qualified(node, imports) in _WIDE_ALONE | _SILENT | _ADDING
    )


def _is_cast(node: ast.expr, method: ast.FunctionDef) -> bool:
    """Whether an expression is `x.astype(dtype)`, or a local that is."""
    match node:
        case ast.Call(func=ast.Attribute(attr="astype")):
            return True
        case ast.Name(id=name):
            return any(_is_cast(value, method) for value in only_value(name, method))
    return False
