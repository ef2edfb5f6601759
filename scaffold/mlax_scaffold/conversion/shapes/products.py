"""Products of matrices as `jax.lax` writes them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import literal


def is_matmul(dimensions: ast.expr) -> bool:
    """Whether `lax.dot_general` is told to sum over the last axis and the first one."""
    match dimensions:
        case ast.Tuple(
            elts=[
                ast.Tuple(elts=[ast.Tuple(elts=[last]), ast.Tuple(elts=[first])]),
                ast.Tuple(elts=[ast.Tuple(elts=[]), ast.Tuple(elts=[])]),
            ]
        ):
            ends = ast.unparse(last).endswith(".ndim - 1") or literal(last) == -1
            return ends and literal(first) == 0
    return False
