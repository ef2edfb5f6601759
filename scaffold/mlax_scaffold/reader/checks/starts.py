"""Finds slices whose starts have several dtypes where 64-bit mode is on."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.reader.checks.exactness import exact_inputs, qualified
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source

_STARTS = {"jax.lax.dynamic_slice": 1, "jax.lax.dynamic_update_slice": 2}
"""Functions that take starts of one dtype, and which argument they are."""


def check_starts(
    source: Source,
    call: ast.Call,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> None:
    """Report `(0, index, 0)`: a number is an int64 there, and an input may be an int32."""
    at = _STARTS.get(qualified(call.func, imports) or "")
    if at is None or len(call.args) <= at:
        return
    starts = call.args[at]
    if not isinstance(starts, ast.Tuple | ast.List):
        return
    numbers = [e for e in starts.elts if _is_number(e)]
    inputs = exact_inputs(method)
    names = [e.id for e in starts.elts if isinstance(e, ast.Name) and e.id in inputs]
    if not numbers or not names:
        return
    jnp = of_jax(source, "jnp")
    edits = [
        source.edit(number, _like(jnp.bound, names[0], number)) for number in numbers
    ]
    source.report(
        starts,
        "the starts of a slice have one dtype, and in 64-bit mode a number has another "
        f"than `{names[0]}`",
        f"Make the numbers like it: `{edits[0].text}`.",
        fix=Fix(tuple(edits), (jnp,)),
    )


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _like(jnp: str, name: str, number: ast.expr) -> str:
    assert isinstance(number, ast.Constant)
    if number.value == 0:
        return f"{jnp}.zeros_like({name})"
    return f"{jnp}.full_like({name}, {number.value})"
