"""Numbers of Python that are made in float32 whatever the input is: chosen between, or returned."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.floats import is_float
from mlax_scaffold.reader.checks.integers import Integers
from mlax_scaffold.reader.checks.likeness import like_of
from mlax_scaffold.reader.checks.numpy_arrays import computed_dtype
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source


def check_choices(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jnp.where(mask, 0.0, 0.5)`, where an array says in which dtype it should be made."""
    if method.name == "forward":
        _check_returned(source, method, imports)
    for node in walk(method):
        match node:
            case ast.Call(func=function, args=[_, one, other], keywords=[]) if (
                qualified(function, imports) == "jax.numpy.where"
                and _are_floats(
                    one, other, Integers(source.tree, imports, method, attributes)
                )
            ):
                pass
            case _:
                continue
        like = like_of(node, source.tree, method, imports, attributes)
        if like is None:
            continue
        needed = of_jax(source, "jnp")
        text = f"{needed.bound}.asarray({source.text_of(one)}, {like}.dtype)"
        source.report(
            node,
            f"`{source.text_of(function)}` of two numbers makes float32, whatever {like} is",
            f"Give one of them a dtype: `{text}`.",
            fix=Fix((source.edit(one, text),), (needed,)),
        )


def _check_returned(
    source: Source, method: ast.FunctionDef, imports: Mapping[str, Import]
) -> None:
    """Report `return y, 0.0`: a part of the result that is a number."""
    dtype = computed_dtype(source, method)
    if dtype is None:
        return
    for node in walk(method):
        returned = node.value if isinstance(node, ast.Return) else None
        parts = returned.elts if isinstance(returned, ast.Tuple) else [returned]
        for part in parts:
            if part is None or not is_float(part, imports):
                continue
            needed = of_jax(source, "jnp")
            text = f"{needed.bound}.asarray({source.text_of(part)}, {dtype})"
            source.report(
                part,
                f"a number that is returned is of float32, whatever {dtype} is",
                f"Write `{text}`.",
                fix=Fix((source.edit(part, text),), (needed,)),
            )


def _are_floats(one: ast.expr, other: ast.expr, known: Integers) -> bool:
    """Whether both are numbers, of which one is certain to be no integer."""
    both = one, other
    floats = [n for n in both if known.is_number(n) or is_float(n, known.imports)]
    return bool(floats) and all(n in floats or _is_integer(n) for n in both)


def _is_integer(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_integer(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int)
