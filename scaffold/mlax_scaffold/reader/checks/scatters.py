"""Sums at indices that are arrays, `y.at[receivers].add(messages)`: half precision loses what is small."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import exact_inputs, qualified
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, dotted

_TO_INDICES = frozenset(
    [
        *("jax.lax.top_k", "jax.numpy.arange", "jax.numpy.argsort"),
        *("jax.numpy.digitize", "jax.numpy.nonzero", "jax.numpy.searchsorted"),
    ]
)
"""Functions that return indices of several places."""


def check_scatters(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `x.at[i].add(y)` where `i` is an array of indices."""
    arrays = _indices(method, imports)
    for node in walk(method):
        index = _added_at(node)
        if index is not None and _is_array(index, arrays, imports):
            report_scatter(source, node)


def report_scatter(source: Source, node: ast.AST) -> bool:
    """Report `x.at[index].add(y)`; False: it is another expression."""
    index = _added_at(node)
    if index is None or not isinstance(node, ast.Call):
        return False
    base, value = node.func.value.value.value, node.args[0]  # type: ignore[attr-defined]
    shown = source.text_of(index)
    needed = word(source, "add_at")
    given = ", ".join(map(source.text_of, (base, index, value)))
    if isinstance(index, ast.Tuple):
        given = given.replace(shown, f"({shown.strip('()')})", 1)
    source.report(
        node,
        f"`.at[{shown}].add` adds one after the other, which loses what is small "
        "in half precision",
        "Use `add_at(array, indices, values)` of mlax_scaffold.spec, which adds in pairs.",
        fix=Fix((source.edit(node, f"{needed.bound}({given})"),), (needed,)),
    )
    return True


def _added_at(node: ast.AST) -> ast.expr | None:
    """The index of `x.at[index].add(y)`; None for anything else."""
    match node:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Subscript(value=ast.Attribute(attr="at"), slice=index),
                attr="add",
            ),
            args=[_],
            keywords=[],
        ):
            return index
    return None


def _is_array(index: ast.expr, arrays: set[str], imports: Mapping[str, Import]) -> bool:
    """Whether an index, or one of several, is known to be an array; none of them is a slice."""
    match index:
        case ast.Tuple(elts=parts):
            # A slice, None or an ellipsis is no place.
            other = (ast.Slice, ast.Constant, ast.Starred)
            return not any(isinstance(p, other) for p in parts) and any(
                _is_array(p, arrays, imports) for p in parts
            )
        case ast.Name(id=name):
            return name in arrays
        case ast.Call(func=function):
            return qualified(function, imports) in _TO_INDICES
        case ast.Subscript(value=inner, slice=ast.Tuple() | ast.Constant(value=None)):
            # An axis is added, as in `rows[:, None]`.
            return _is_array(inner, arrays, imports)
    return False


def _indices(method: ast.FunctionDef, imports: Mapping[str, Import]) -> set[str]:
    """The names of arrays that may be indices.

    They are inputs of integers, what mapped functions take, and what is computed of these.
    """
    found = {*exact_inputs(method), *_mapped(method, imports)}
    for node in walk(method):
        match node:
            case ast.Assign(targets=[target], value=ast.expr() as value) if not (
                isinstance(value, ast.Subscript)
            ):
                calls = (n for n in walk(value) if isinstance(n, ast.Call))
                made = any(qualified(c.func, imports) in _TO_INDICES for c in calls)
                if made or _reads(value, found):
                    names = (n for n in walk(target) if isinstance(n, ast.Name))
                    found |= {n.id for n in names}
    return found


def _reads(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression depends on the numbers of an array, and not on its shape alone."""
    match node:
        case ast.Attribute(attr="shape" | "ndim" | "size" | "dtype"):
            return False
        case ast.Call(func=ast.Name(id="len")):
            return False
        case ast.Name(id=name):
            return name in names
    children = ast.iter_child_nodes(node)
    return any(_reads(c, names) for c in children if isinstance(c, ast.expr))


def _mapped(method: ast.FunctionDef, imports: Mapping[str, Import]) -> Iterator[str]:
    """The parameters of functions that `jax.vmap` maps."""
    named = set()
    for node in walk(method):
        match node:
            case ast.Call(func=function, args=[mapped, *_]) if (
                qualified(function, imports) == "jax.vmap"
            ):
                if isinstance(mapped, ast.Lambda):
                    yield from (a.arg for a in mapped.args.args)
                named.add(dotted(mapped))
    for node in walk(method):
        if isinstance(node, ast.FunctionDef) and node is not method:
            decorators = {qualified(d, imports) for d in node.decorator_list}
            if node.name in named or "jax.vmap" in decorators:
                yield from (a.arg for a in node.args.args)
