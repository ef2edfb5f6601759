"""Ranges of integers that become numbers in a body: the result is of float32, whatever the input is."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.evidence import Evidence
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.checks.exactness import only_value, qualified
from mlax_scaffold.reader.checks.likeness import FLOATING, first_of
from mlax_scaffold.reader.remedies.bodies import typed_like
from mlax_scaffold.reader.source import Source

_OF_FLOATS = frozenset(
    f"jax.numpy.{name}"
    for name in ("cos", "exp", "log", "log1p", "sin", "sqrt", "tanh")
)
"""Functions whose results are floats, where they are given integers, too."""


def check_ranges(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jnp.arange(n) / n`, `2.0 ** jnp.arange(n)`, `jnp.exp(jnp.arange(n))` and their kin.

    A method that takes no array has no dtype to compute in.
    """
    like = None
    for node in walk(method):
        if (dtype := _stepped(node, imports)) is not None:
            _report_step(source, node, dtype)
        for made in _widened(node, imports, method):
            like = like or _like(source, method)
            if like is None:
                return
            source.report(
                made,
                f"`{source.text_of(made.func)}` makes integers, which become float32 here, "
                f"whatever {like} is",
                f"Give it a dtype: `{like}.dtype`. Where integers above 256 matter in bfloat16, "
                "cast by a field of the word DType.",
                fix=typed_like(source, made, like),
            )


def ranges_without_dtype(
    source: Source, method: ast.FunctionDef, imports: Mapping[str, Import]
) -> list[ast.Call]:
    """The ranges that become floats in a method or a function where no array says of which dtype."""
    found = [m for n in walk(method) for m in _widened(n, imports, method)]
    return found if found and _like(source, method) is None else []


def _stepped(node: ast.AST, imports: Mapping[str, Import]) -> ast.expr | None:
    """The dtype of `jnp.arange(start, stop, step, dtype)` of integers, which jax computes in float32."""
    if not isinstance(node, ast.Call):
        return None
    if qualified(node.func, imports) != "jax.numpy.arange":
        return None
    names = [k.arg for k in node.keywords]
    given = [*node.args, *(k.value for k in node.keywords if k.arg != "dtype")]
    dtypes = [*node.args[3:], *(k.value for k in node.keywords if k.arg == "dtype")]
    steps = len(node.args) > 2 or "step" in names
    if not steps or len(dtypes) != 1 or any(_number(part, imports) for part in given):
        return None
    match dtypes[0]:
        case ast.Name(id="dtype") | ast.Attribute(attr="dtype"):
            return dtypes[0]
    return None


def _report_step(source: Source, node: ast.AST, dtype: ast.expr) -> None:
    assert isinstance(node, ast.Call)
    numbers = [*node.args[:3], *(k for k in node.keywords if k.arg != "dtype")]
    inner = ", ".join(map(source.text_of, numbers))
    called = source.text_of(node.func)
    text = f"{called}({inner}).astype({source.text_of(dtype)})"
    source.report(
        node,
        f"`{called}` with a step computes in float32, whatever its dtype is",
        f"Cast the integers: `{text}`.",
        fix=Fix((source.edit(node, text),)),
    )


def _widened(
    node: ast.AST, imports: Mapping[str, Import], method: ast.FunctionDef
) -> list[ast.Call]:
    """The ranges that a node makes floats of."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            sides = [(left, right), (right, left)]
            divides = isinstance(op, ast.Div)
            found = [
                made
                for one, other in sides
                if (made := _range(one, imports)) is not None
                and (
                    _number(other, imports)
                    or (divides and _plain(other))
                    or _number(_value(other, method), imports)
                )
            ]
            return found[:1]
        case ast.Call(func=function, args=[given, *_]):
            made = _range(given, imports)
            if made is not None and qualified(function, imports) in _OF_FLOATS:
                return [made]
    return []


def _range(node: ast.expr, imports: Mapping[str, Import]) -> ast.Call | None:
    """The `jnp.arange(...)` without a dtype that an expression is, with more axes or another sign."""
    match node:
        case ast.Call(func=function, args=args, keywords=[]) if (
            qualified(function, imports) == "jax.numpy.arange" and len(args) <= 3
        ):
            return node
        case ast.UnaryOp(op=ast.USub(), operand=inner) | ast.Subscript(value=inner):
            return _range(inner, imports)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            for one, other in ((left, right), (right, left)):
                if isinstance(other, ast.Constant) and isinstance(other.value, int):
                    return _range(one, imports)
    return None


def _number(node: ast.expr, imports: Mapping[str, Import]) -> bool:
    """Whether an expression is certain to be a floating or complex number of Python."""
    match node:
        case ast.Constant(value=float() | complex()):
            return True
        case ast.UnaryOp(operand=inner):
            return _number(inner, imports)
        case ast.BinOp(left=left, op=op, right=right):
            one = _number(left, imports) or _number(right, imports)
            both = all(_scalar(part, imports) for part in (left, right))
            return both and (one or isinstance(op, ast.Div))
        case ast.Call(func=function):
            return (qualified(function, imports) or "").startswith("math.")
        case ast.Attribute():
            return qualified(node, imports) in ("math.pi", "jax.numpy.pi", "math.e")
    return False


def _value(node: ast.expr, method: ast.FunctionDef) -> ast.expr:
    """What a local is that one statement binds."""
    values = only_value(node.id, method) if isinstance(node, ast.Name) else []
    return values[0] if len(values) == 1 else node


def _scalar(node: ast.expr, imports: Mapping[str, Import]) -> bool:
    """Whether an expression is a number, or a name that may be one."""
    return _number(node, imports) or isinstance(node, ast.Constant) or _plain(node)


def _plain(node: ast.expr) -> bool:
    """Whether it is what a range is divided by: a number, a hyperparameter, a local."""
    return isinstance(node, ast.Constant | ast.Name) or (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _like(source: Source, method: ast.FunctionDef) -> str | None:
    """The first array that a method or a function takes."""
    given = [a for a in method.args.args if a.arg != "self"]
    floating = first_of(given, *FLOATING)
    if floating is not None:
        return floating
    if any(argument.annotation is not None for argument in given):
        return None
    known = Evidence(Scope(source.tree)).of(method)
    return next((a.arg for a in given if known[a.arg].told), None)
