"""An operand that is wider than what it meets, in the dtype of that."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.checks.numpy_arrays import computed_dtype
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source


def wide_operand(node: ast.AST, place: int | None) -> ast.expr | None:
    """The operand at a place of an expression, counted among what is no text; None where there is none."""
    match node:
        case ast.BinOp(left=left, right=right):
            operands = [left, right]
        case ast.Call(args=args) if not any(isinstance(a, ast.Starred) for a in args):
            operands = [a for a in args if not _is_text(a)]
        case _:
            return None
    return operands[place] if place is not None and place < len(operands) else None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def narrowed(source: Source, operand: ast.expr) -> Fix | None:
    """The operand in the dtype that the function around it computes in; None where that is not told."""
    around = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef)
        and any(part is operand for part in ast.walk(node))
    ]
    # The outermost one has the inputs; a nested one may be given anything.
    for function in around:
        dtype = computed_dtype(source, function)
        if dtype is not None:
            jnp = of_jax(source, "jnp")
            text = f"{jnp.bound}.asarray({source.text_of(operand)}, {dtype})"
            return Fix((source.edit(operand, text),), (jnp,))
    return None
