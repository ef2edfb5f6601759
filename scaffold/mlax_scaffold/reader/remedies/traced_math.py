"""Functions of `math` that are given traced values, as those of jax.numpy."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source, dotted

_SAME = frozenset(
    (
        *("ceil", "cos", "cosh", "exp", "expm1", "floor", "hypot", "isfinite"),
        *("isinf", "isnan", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt"),
        *("tan", "tanh", "trunc"),
    )
)
_OTHERS = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "degrees": "degrees",
    "fabs": "abs",
    "pow": "power",
    "radians": "radians",
}


def traced_math(source: Source, node: ast.AST) -> Fix | None:
    """`math.cos(x)` as `jnp.cos(x)`; None for anything else, and for a logarithm to another base."""
    if not isinstance(node, ast.Call):
        return None
    owners = {
        alias.asname or alias.name
        for statement in source.tree.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
        if alias.name == "math"
    }
    names = {
        alias.asname or alias.name: alias.name
        for statement in source.tree.body
        if isinstance(statement, ast.ImportFrom) and statement.module == "math"
        for alias in statement.names
    }
    owner, _, name = (dotted(node.func) or "").rpartition(".")
    name = name if owner in owners else names.get(name, "") if not owner else ""
    new = name if name in _SAME else _OTHERS.get(name)
    if new is None or (name == "log" and len(node.args) > 1):
        return None
    jnp = of_jax(source, "jnp")
    return Fix((source.edit(node.func, f"{jnp.bound}.{new}"),), (jnp,))
