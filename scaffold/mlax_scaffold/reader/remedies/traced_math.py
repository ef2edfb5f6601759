"""Functions of `math` that are given traced values, as those of jax.numpy."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

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
    """`math.cos(x)` as `jnp.cos(x)`, and so each such call of the function that is given traced values.

    None for anything else, and for a logarithm to another base.
    """
    functions = _Functions.of(source)
    if not isinstance(node, ast.Call) or functions.of_jax(node) is None:
        return None
    calls = [node]
    around = [
        f
        for f in ast.walk(source.tree)
        if isinstance(f, ast.FunctionDef) and node in ast.walk(f)
    ]
    if around:
        traced = _traced(around[0])
        calls += [
            call
            for call in ast.walk(around[0])
            if isinstance(call, ast.Call)
            and call is not node
            and any(_names(argument) & traced for argument in call.args)
        ]
    named = [(call, new) for call in calls if (new := functions.of_jax(call))]
    jnp = of_jax(source, "jnp")
    edits = [source.edit(call.func, f"{jnp.bound}.{new}") for call, new in named]
    return Fix(tuple(edits), (jnp,))


@dataclass(frozen=True)
class _Functions:
    """What a spec calls the module `math`, and its functions."""

    owners: frozenset[str]
    names: Mapping[str, str]

    @classmethod
    def of(cls, source: Source) -> _Functions:
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
        return cls(frozenset(owners), names)

    def of_jax(self, call: ast.Call) -> str | None:
        """The function of jax.numpy that does what a call of `math` does; None for any other call."""
        owner, _, last = (dotted(call.func) or "").rpartition(".")
        names = dict.fromkeys([last], last) if owner in self.owners else self.names
        name = names.get(last, "") if owner in ("", *self.owners) else ""
        new = name if name in _SAME else _OTHERS.get(name)
        return None if name == "log" and len(call.args) > 1 else new


def _traced(function: ast.FunctionDef) -> set[str]:
    """The names that hold what a function is given, or what is computed of that."""
    found = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    found -= {"self"}
    while True:
        before = len(found)
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=targets, value=value):
                    pass
                case ast.AugAssign(target=target, value=value):
                    targets = [target]
                case _:
                    continue
            if _names(value) & found:
                found |= {name for target in targets for name in _names(target)}
        if len(found) == before:
            return found


def _names(node: ast.AST) -> set[str]:
    """The names in an expression, without those that are asked for their sizes."""
    if isinstance(node, ast.Attribute) and node.attr in ("dtype", "ndim", "shape"):
        return set()
    if isinstance(node, ast.Name):
        return {node.id}
    return {name for part in ast.iter_child_nodes(node) for name in _names(part)}
