"""Finds what an update divides by: a root and a small constant, which is zero in float16, as 1e-8 is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.numpy_arrays import computed_dtype
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source

_BOUNDS = frozenset(("clip", "minimum", "nan_to_num", "where"))
"""What makes something finite of a quotient that is not."""

_TINY = 2.0**-14
"""The smallest normal number of float16: what is below it may be taken for zero."""


def check_vanishing(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `g / (jnp.sqrt(v) + 1e-8)` in `update` of an optimizer, and in functions that it calls.

    Where an array of gradients is zero, the quotient would not be finite.
    """
    if method.name != "update" or "dither" not in attributes:
        return
    for function in (method, *_called(source.tree, method)):
        dtype = "grad.dtype" if function is method else computed_dtype(source, function)
        for divisor, constant in _divisors(function):
            jnp = of_jax(source, "jnp").bound
            text = source.text_of(divisor)
            written = f"{jnp}.maximum({text}, {jnp}.finfo({dtype}).tiny)"
            source.report(
                constant,
                f"`{source.text_of(constant)}` is 0 in float16: where gradients are zero, "
                "this divides by zero",
                "Divide by no less than the smallest number: "
                "`jnp.maximum(x, jnp.finfo(x.dtype).tiny)`.",
                fix=Fix((_bare(source, divisor, written),), (of_jax(source, "jnp"),))
                if dtype is not None
                else None,
            )


def _bare(source: Source, divisor: ast.expr, text: str) -> Edit:
    """Another text for a divisor, without the parentheses around it."""
    (line, column), (last, end) = source.start(divisor), source.end(divisor)
    start, stop = (line, column - 1), (last, end + 1)
    outer = source.between(start, stop)
    if outer.startswith("(") and outer.endswith(")"):
        return source.replace(start, stop, text)
    return source.edit(divisor, text)


def _called(tree: ast.Module, method: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """The functions beside the definition that a method calls."""
    named = {n.func.id for n in walk(method) if _is_named_call(n)}  # type: ignore[attr-defined]
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in named:
            yield statement


def _is_named_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _divisors(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is divided by, where it is a sum with a small constant, and the constant."""
    arguments = function.args
    defaults = {
        a.arg: d
        for a, d in zip(
            reversed(arguments.args), reversed(arguments.defaults), strict=False
        )
    }
    bounded = {id(n) for c in walk(function) if _bounds(c) for n in walk(c)}
    for node in walk(function):
        match node:
            case ast.BinOp(
                op=ast.Div(),
                right=ast.BinOp(left=left, op=ast.Add(), right=right) as divisor,
            ) if not isinstance(left, ast.Constant) and id(node) not in bounded:
                known = defaults.get(right.id, right) if _is_name(right) else right  # type: ignore[attr-defined]
                match known:
                    case ast.Constant(value=float(value)) if 0 < value < _TINY:
                        yield divisor, right


def _bounds(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (
        getattr(node.func, "attr", getattr(node.func, "id", "")) in _BOUNDS
    )


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)
