"""The floating dtypes that code names: who writes `x.astype(jnp.float32)` has asked for them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from mlax_scaffold.model.import_time import meaning

_DTYPES = ("bfloat16", "float16", "float32", "float64")
_MODULES = ("jax.numpy", "numpy")
_DECLARING = ("moment", "state", "trainable")
"""What these are given is a dtype that something is kept in, and not computed in."""
_WIDENED = "._core.precision.widened"
"""The word that computes in float32."""


def named_dtypes(
    nodes: Iterable[ast.AST], meanings: Mapping[str, str]
) -> tuple[str, ...]:
    """Their names, in order: those of casts, of arguments of calls, and of numbers, `jnp.float32(2)`."""
    found = {name for node in nodes for name in _named(node, meanings)}
    return tuple(sorted(found))


def _named(node: ast.AST, meanings: Mapping[str, str]) -> Iterator[str]:
    match node:
        case ast.Attribute() | ast.Name() if named := meaning(node, meanings):
            module, _, name = named.rpartition(".")
            if module in _MODULES and name in _DTYPES:
                yield name
            if f"{module}.{name}" == _WIDENED:
                yield "float32"
            return
        case ast.Call(func=ast.Attribute(attr="astype"), args=[ast.Constant(value)]):
            yield from [value] if value in _DTYPES else []
        case ast.keyword(arg="dtype" | "accum_dtype", value=ast.Constant(value)):
            yield from [value] if value in _DTYPES else []
        case ast.Call(func=ast.Name(id=word)) if word in _DECLARING:
            return
        case ast.Compare() | ast.AnnAssign() | ast.arguments():
            return
        case ast.Call(func=ast.Attribute(attr="finfo" | "result_type")):
            return
    for child in ast.iter_child_nodes(node):
        yield from _named(child, meanings)
