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
_IN_CALLS = "in calls"
"""In the place of float32 where one function of jax computes in it."""


def named_dtypes(
    nodes: Iterable[ast.AST], meanings: Mapping[str, str]
) -> tuple[str, ...]:
    """Their names, in order: those of casts, of arguments of calls, and of numbers, `jnp.float32(2)`.

    So is that of a state which is read as it is stored: `self.stored.mean` of `state(zeros, (), float32)`.
    """
    found = _found(nodes, meanings)
    return tuple(sorted({"float32" if n == _IN_CALLS else n for n in found}))


def _found(nodes: Iterable[ast.AST], meanings: Mapping[str, str]) -> set[str]:
    nodes = list(nodes)
    found = {name for node in nodes for name in _named(node, meanings)}
    return found | {*_of_stored(nodes, meanings)}


def widens_calls_alone(nodes: Iterable[ast.AST], meanings: Mapping[str, str]) -> bool:
    """Whether nothing names a dtype but `widened(jnp.linalg.inv)`, which gives back the dtype of its input.

    What `widened` makes of a function of one's own may be all that is computed.
    """
    return _found(nodes, meanings) == {_IN_CALLS}


def _of_stored(nodes: Iterable[ast.AST], meanings: Mapping[str, str]) -> Iterator[str]:
    parts = [part for node in nodes for part in ast.walk(node)]
    read = {n.attr for n in parts if isinstance(n, ast.Attribute) and _is_stored(n)}
    for part in parts:
        match part:
            case ast.Assign(
                targets=[ast.Attribute(attr=name)],
                value=ast.Call(func=ast.Name(id="state"), args=[_, _, dtype]),
            ) if name in read:
                yield from _named(dtype, meanings)


def _is_stored(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(
            value=ast.Attribute(value=ast.Name(id="self"), attr="stored")
        ):
            return True
    return False


def _named(node: ast.AST, meanings: Mapping[str, str]) -> Iterator[str]:
    match node:
        case ast.Attribute() | ast.Name() if named := meaning(node, meanings):
            module, _, name = named.rpartition(".")
            if module in _MODULES and name in _DTYPES:
                yield name
            if f"{module}.{name}" == _WIDENED:
                yield "float32"
            return
        case ast.Call(func=word, args=[function]) if meaning(
            word, meanings
        ) == _WIDENED and (meaning(function, meanings) or "").startswith("jax."):
            yield _IN_CALLS
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
