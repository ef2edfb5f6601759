"""Locals with the axes of an input but its last one, and other values: `ids = jnp.argmax(x, axis=-1)`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from mlax_scaffold.reader.axes.aliases import Alias, Names
from mlax_scaffold.reader.axes.operations import Find, integer
from mlax_scaffold.reader.source import dotted

_REDUCTIONS = frozenset(
    (
        *("all", "any", "argmax", "argmin", "logsumexp", "max", "mean", "median"),
        *("min", "norm", "prod", "std", "sum", "var"),
    )
)
_MODULES = ("jax", "jnp", "np", "numpy")


@dataclass
class Reduced:
    """Such locals, as far as the statements that bind them are read."""

    names: Names = field(default_factory=dict)

    def bind(self, name: str, value: ast.expr, find: Find) -> None:
        """Note what a statement binds a name to."""
        self.names.pop(name, None)
        array = _reduced(value)
        if array is not None and (alias := find(array)):
            self.names[name] = alias.ended(-1)

    def of(self, node: ast.expr) -> Alias | None:
        """What a name stands for that is such a local."""
        return self.names.get(node.id) if isinstance(node, ast.Name) else None


def _reduced(node: ast.expr) -> ast.expr | None:
    """The array in `jnp.argmax(x, axis=-1)` and `x.sum(-1)`; None for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args):
            pass
        case _:
            return None
    if name not in _REDUCTIONS or any(k.arg == "keepdims" for k in node.keywords):
        return None
    module = (dotted(owner) or "").partition(".")[0] in _MODULES
    first, *rest = args if module and args else [owner, *args]
    axes = [k.value for k in node.keywords if k.arg == "axis"] + rest[:1]
    return first if [*map(integer, axes)] == [-1] else None
