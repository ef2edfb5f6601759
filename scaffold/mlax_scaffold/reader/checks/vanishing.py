"""Finds what an update divides by: a root and a small constant, which is zero in float16, as 1e-8 is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.local_values import bindings_of, only_value
from mlax_scaffold.reader.checks.numpy_arrays import computed_dtype
from mlax_scaffold.reader.remedies.bodies import without_brackets
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_CHOOSES = frozenset(("nan_to_num", "where"))
"""What makes something finite of a quotient that is none."""
_BOUNDS = frozenset(("clip", "minimum"))
"""What makes something finite of an infinite one."""
_WHOLE = ("prepare", "finish", "step")
"""Methods whose numbers are computed of all leaves, in their dtype."""

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
    if method.name not in ("update", *_WHOLE) or "dither" not in attributes:
        return
    update = method.name == "update"
    if update and "grad" not in [a.arg for a in method.args.args]:
        return  # That it is called otherwise is told first.
    for function in (method, *(_called(source.tree, method) if update else ())):
        known = "grad.dtype" if function is method else computed_dtype(source, function)
        for divisor, constant in _divisors(function, _negative(source.tree, function)):
            text = source.text_of(divisor)
            # What a constant keeps from zero is an array of the dtype, if it has a name.
            dtype = known or next((f"{n}.dtype" for n in _kept(divisor)), None)
            dtype = next(_other_dtypes(divisor, function), dtype)
            jnp = of_jax(source, "jnp").bound
            cast = _cast(divisor)
            if cast is not None:
                dtype = source.text_of(cast[1])
            written = f"{jnp}.maximum({text}, {jnp}.finfo({dtype}).tiny)"
            if not update and cast is None:
                # A number of all leaves has a name, or it is none of theirs.
                if not (
                    isinstance(divisor, ast.BinOp)
                    and isinstance(divisor.left, ast.Name)
                ):
                    continue
                name = divisor.left.id
                dtype = f"{name}.dtype"
                written = f"{jnp}.maximum({text}, {jnp}.finfo({dtype}).tiny)"
                if method.name != "step":
                    # Scalars are of the default dtype there; without leaves it is one of Python.
                    added = source.text_of(constant)
                    written = f"({jnp}.asarray({name}, float) + {added})"
            source.report(
                constant,
                f"`{source.text_of(constant)}` is 0 in float16: where gradients are zero, "
                "this divides by zero",
                "Divide by no less than the smallest number: "
                "`jnp.maximum(x, jnp.finfo(x.dtype).tiny)`.",
                fix=Fix(
                    (without_brackets(source, divisor, written),),
                    (of_jax(source, "jnp"),),
                )
                if dtype is not None
                else None,
            )


def _kept(divisor: ast.expr) -> Iterator[str]:
    """The name of what a constant is added to, or is less than."""
    match divisor:
        case ast.BinOp(left=ast.Name(id=name)) | ast.Call(args=[ast.Name(id=name), _]):
            yield name


def _other_dtypes(divisor: ast.expr, function: ast.FunctionDef) -> Iterator[str]:
    """That of a local in a divisor which a function casts itself: `x = grad.astype(jnp.bfloat16)`."""
    for name in dict.fromkeys(n.id for n in walk(divisor) if isinstance(n, ast.Name)):
        for value in bindings_of(name, function):
            cast = _cast(value)
            if cast and not (dotted(cast[1]) or "").endswith("dtype"):
                yield f"{name}.dtype"


def _called(tree: ast.Module, method: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """The functions beside the definition that a method calls."""
    named = {n.func.id for n in walk(method) if _is_named_call(n)}  # type: ignore[attr-defined]
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in named:
            yield statement


def _is_named_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _negative(tree: ast.Module, function: ast.FunctionDef) -> set[str]:
    """The parameters of a function that calls of the file give negative numbers."""
    names = [a.arg for a in function.args.args]
    calls = (c for c in walk(tree) if _is_named_call(c) and c.func.id == function.name)  # type: ignore[attr-defined]
    return {
        name
        for call in calls
        for name, value in (
            *zip(names, call.args, strict=False),  # type: ignore[attr-defined]
            *((k.arg, k.value) for k in call.keywords),  # type: ignore[attr-defined]
        )
        if name and _is_negative(value, set())
    }


def _is_negative(node: ast.expr, names: set[str]) -> bool:
    """Whether an exponent has a minus before it, or is one of these names."""
    match node:
        case ast.UnaryOp(op=ast.USub()):
            return True
        case ast.BinOp(left=left, op=ast.Div() | ast.Mult()):
            return _is_negative(left, names)
    return isinstance(node, ast.Name) and node.id in names


def _divisors(
    function: ast.FunctionDef, negative: set[str]
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is divided by, where it is a sum with a small constant or no less than it, and the constant."""
    arguments = function.args
    defaults = {
        a.arg: d
        for a, d in zip(
            reversed(arguments.args), reversed(arguments.defaults), strict=False
        )
    }
    bounded = {id(n) for c in walk(function) if _calls(c, _BOUNDS) for n in walk(c)}
    chosen = [c for c in walk(function) if _calls(c, _CHOOSES)]
    for node in walk(function):
        for numerator, whole in _quotient(node, function, negative):
            divisor = _under_root(whole)
            cast = _cast(divisor)
            if cast is not None and _is_wide(cast[1]):
                continue
            match cast[0] if cast else divisor:
                case (
                    ast.BinOp(left=left, op=ast.Add(), right=right)
                    | ast.Call(
                        func=ast.Attribute(attr="maximum" | "clip"),
                        args=[left, right],
                        keywords=[],
                    )
                ) if not (
                    isinstance(left, ast.Constant)
                    or any(_chooses(c, node, divisor) for c in chosen)
                    or (id(node) in bounded and _is_given(numerator))
                ):
                    known = (
                        defaults.get(right.id, right)
                        if isinstance(right, ast.Name)
                        else right
                    )
                    match known:
                        case ast.Constant(value=float(value)) if 0 < value < _TINY:
                            # What is cast is kept from zero in the dtype that it is cast to.
                            yield divisor, right


def _quotient(
    node: ast.AST, function: ast.FunctionDef, negative: set[str]
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is divided, and by what, which may be a local: `g / d`, `d ** -0.5`, `lax.rsqrt(d)`."""
    match node:
        case ast.BinOp(left=numerator, op=ast.Div(), right=divisor):
            pass
        case ast.BinOp(left=divisor, op=ast.Pow(), right=numerator) if _is_negative(
            numerator, negative
        ):
            if isinstance(numerator, ast.UnaryOp):
                numerator = numerator.operand
        case ast.Call(func=ast.Attribute(attr="rsqrt"), args=[divisor]):
            numerator = ast.Constant(1.0)
        case _:
            return
    if isinstance(divisor, ast.Name):
        values = [*only_value(divisor.id, function)]
        divisor = values[0] if len(values) == 1 else divisor
    yield numerator, divisor


def _under_root(node: ast.expr) -> ast.expr:
    """The expression that `jnp.sqrt(x)` and `x ** 0.5` are roots of; any other itself."""
    match node:
        case ast.Call(func=ast.Attribute(attr="sqrt" | "cbrt"), args=[inner]):
            return inner
        case ast.BinOp(left=inner, op=ast.Pow(), right=ast.Constant()):
            return inner
    return node


def _cast(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What `(norm + 1e-8).astype(x.dtype)` and `jnp.asarray(norm + 1e-8, x.dtype)` cast, and the dtype."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="astype"), args=[dtype]):
            return inner, dtype
        case ast.Call(
            func=ast.Attribute(attr="array" | "asarray"), args=[inner, dtype]
        ):
            return inner, dtype
    return None


def _is_wide(dtype: ast.expr) -> bool:
    name = (dotted(dtype) or "").rpartition(".")[2]
    return name in ("float", "float32", "float64")


def _calls(node: ast.AST, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Call) and (
        getattr(node.func, "attr", getattr(node.func, "id", "")) in names
    )


def _chooses(call: ast.AST, quotient: ast.AST, divisor: ast.expr) -> bool:
    """Whether `jnp.where(norm > 0, x / norm, 1.0)` asks for what the quotient divides by."""
    if not isinstance(call, ast.Call) or quotient not in walk(call):
        return False
    names = ({n.id for n in walk(e) if _is_name(n)} for e in (call.args[0], divisor))  # type: ignore[attr-defined]
    return len(call.args) == 1 or bool(set.intersection(*names))


def _is_given(node: ast.expr) -> bool:
    """Whether it is a number that is not zero by itself: of its quotient by zero nothing is NaN."""
    return isinstance(node, ast.Constant) or self_attribute(node) is not None


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)
