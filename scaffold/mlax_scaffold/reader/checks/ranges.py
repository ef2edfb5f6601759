"""Arrays of integers that become floats in a body: the result is of float32, whatever the input is."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.evidence import Evidence
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.checks.exactness import is_integer, qualified
from mlax_scaffold.reader.checks.handed import handed_by_callers
from mlax_scaffold.reader.checks.integers import Integers
from mlax_scaffold.reader.checks.likeness import (
    UPDATED,
    array_handed,
    exact_arguments,
    floating_of,
)
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.checks.number_arguments import number_arguments
from mlax_scaffold.reader.named_dtypes import named_dtypes
from mlax_scaffold.reader.remedies.bodies import typed_like
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source, dotted

_OF_FLOATS = frozenset(
    f"jax.numpy.{name}"
    for name in (
        *("arctan", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "log", "log10"),
        *("log1p", "log2", "sin", "sinc", "sinh", "sqrt", "tan", "tanh"),
    )
)
"""Functions whose results are floats, where they are given integers, too."""
_OF_SEVERAL = frozenset(
    f"jax.numpy.{name}"
    for name in (
        *("add", "clip", "divide", "float_power", "maximum", "minimum", "multiply"),
        *("power", "subtract", "true_divide", "where"),
    )
)
"""Functions whose results are floats, where they are given integers and a floating number."""
_STRICT = frozenset(
    f"functional.{name}"
    for name in (
        *("l2_norm", "log_softmax", "logsumexp", "mean", "moments", "rms", "softmax"),
        *("standardize", "std", "var"),
    )
)
"""Words that take floats alone."""


def check_ranges(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jnp.arange(n) / n`, `2.0 ** jnp.arange(n)`, `jnp.exp(jnp.arange(n))` and their kin.

    A method that takes no array has no dtype to compute in.
    """
    known = Integers(source.tree, imports, method, attributes)
    like = None
    exact: set[ast.AST] | None = None
    _check_masks(source, method, imports, known)
    for node in walk(method):
        if (dtype := _stepped(node, imports)) is not None:
            _report_step(source, node, dtype, imports)
        for given in _widened(node, imports, method, known):
            like = like or _like(source, method)
            if like is None:
                _report_callers(source, method, imports, attributes)
                return
            if exact is None:
                exact = _kept_exact(method, imports, known)
            if node in exact:
                continue
            made = _range(given, imports)
            if made is None:
                _report_array(source, given, like)
                continue
            source.report(
                made,
                f"`{source.text_of(made.func)}` makes integers, which become float32 here, "
                f"whatever {like} is",
                f"Give it a dtype: `{like}.dtype`. {_LARGE}",
                fix=typed_like(source, made, like),
            )


def _check_masks(
    source: Source,
    method: ast.FunctionDef,
    imports: Mapping[str, Import],
    known: Integers,
) -> None:
    """Report `(a == b).astype(jnp.float32)`, which nothing casts to the dtype of the input again."""
    casts = [
        (call.func.value, call.args[0])
        for call in walk(method)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "astype"
        and len(call.args) == 1
    ]
    if any(isinstance(d, ast.Attribute) and d.attr == "dtype" for _, d in casts):
        return  # it says itself in which dtype what is computed
    for given, dtype in casts:
        if (qualified(dtype, imports) or dotted(dtype)) not in _SINGLE:
            continue
        like = _like(source, method) if known.are_booleans(given) else None
        if like is not None:
            source.report(
                dtype,
                f"`{source.text_of(dtype)}` makes float32 of what these booleans meet, "
                f"whatever {like} is",
                f"0 and 1 are the same in any dtype: `{like}.dtype`.",
                fix=Fix((source.edit(dtype, f"{like}.dtype"),)),
            )


_SINGLE = ("float", "jax.numpy.float32")

_LARGE = (
    "Where integers above 256 matter in bfloat16, cast by a field of the word DType."
)


def _report_array(source: Source, given: ast.expr, like: str) -> None:
    """`(n + 1) * 0.5` as `(n + 1).astype(x.dtype) * 0.5`."""
    while isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.USub):
        given = given.operand
    text = source.text_of(given)
    cast = f".astype({like}.dtype)"
    bare = isinstance(given, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    written = f"{text}{cast}" if bare else f"({text}){cast}"
    edit = source.edit(given, written)
    if not bare and (end := _closed(source, given)):
        edit = source.replace(end, end, cast)
    source.report(
        given,
        f"`{text}` holds integers or booleans, which become float32 here, whatever {like} is",
        f"Cast it: `{written}`. {_LARGE}",
        fix=Fix((edit,)),
    )


def _report_callers(
    source: Source,
    function: ast.FunctionDef,
    imports: Mapping[str, Import],
    attributes: Mapping[str, str],
) -> None:
    """`share(labels)`, of which a function that is given no other array makes floats.

    One that names the dtype that it computes in takes integers as they are.
    """
    if named_dtypes([function], {n: i.meaning for n, i in imports.items()}):
        return
    for parameter in function.args.args:
        for caller, given in handed_by_callers(parameter.arg, function, source.tree):
            like = _like(source, caller)
            known = Integers(source.tree, imports, caller, attributes)
            if like is not None and known.hold(given):
                _report_array(source, given, like)


def _closed(source: Source, operand: ast.expr) -> tuple[int, int] | None:
    """The place behind the parentheses of an operand; None where it has none of its own."""
    (line, column), (last, end) = source.start(operand), source.end(operand)
    if column == 1 or source.between((line, column - 1), (line, column)) != "(":
        return None
    if source.between((last, end), (last, end + 1)) != ")":
        return None
    calls = (n for n in walk(source.tree) if isinstance(n, ast.Call))
    if any(operand in c.args for c in calls):
        return None
    return last, end + 1


def _kept_exact(
    method: ast.FunctionDef, imports: Mapping[str, Import], known: Integers
) -> set[ast.AST]:
    """What is computed of integers, and for integers again: `(n / 2).astype(jnp.int32)`."""
    found: set[ast.AST] = set()
    for node in walk(method):
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr="astype"), args=[dtype]):
                if is_integer(dtype, imports):
                    found |= {*walk(inner)}
            case ast.Compare(left=left, comparators=others):
                names = [n for n in walk(node) if isinstance(n, ast.Name)]
                read = [n for n in names if n.id not in (*imports, "self")]
                if all(known.hold(n) or known.is_scalar(n) for n in read):
                    found |= {n for side in (left, *others) for n in walk(side)}
    return found


def ranges_without_dtype(
    source: Source, method: ast.FunctionDef, imports: Mapping[str, Import]
) -> list[ast.Call]:
    """The ranges that become floats in a method or a function where no array says of which dtype."""
    made = [g for n in walk(method) for g in _widened(n, imports, method, None)]
    found = [m for given in made if (m := _range(given, imports)) is not None]
    return found if found and _like(source, method) is None else []


def _stepped(node: ast.AST, imports: Mapping[str, Import]) -> ast.expr | None:
    """The dtype of `jnp.arange(start, stop, step, dtype)`, which jax computes in float32."""
    if not isinstance(node, ast.Call):
        return None
    if qualified(node.func, imports) != "jax.numpy.arange":
        return None
    names = [k.arg for k in node.keywords]
    dtypes = [*node.args[3:], *(k.value for k in node.keywords if k.arg == "dtype")]
    steps = len(node.args) > 2 or "step" in names
    if not steps or len(dtypes) != 1:
        return None
    match dtypes[0]:
        case ast.Name(id="dtype") | ast.Attribute(attr="dtype"):
            return dtypes[0]
    return None


def _report_step(
    source: Source, node: ast.AST, dtype: ast.expr, imports: Mapping[str, Import]
) -> None:
    assert isinstance(node, ast.Call)
    numbers = [*node.args[:3], *(k for k in node.keywords if k.arg != "dtype")]
    inner = ", ".join(map(source.text_of, numbers))
    called = source.text_of(node.func)
    given = [n.value if isinstance(n, ast.keyword) else n for n in numbers]
    needed: tuple[Needed, ...] = ()
    if any(_number(part, imports) for part in given):
        needed = np, jnp = of_jax(source, "np"), of_jax(source, "jnp")
        made = f"{np.bound}.arange({inner})"
        text = f"{jnp.bound}.asarray({made}, {source.text_of(dtype)})"
    else:
        text = f"{called}({inner}).astype({source.text_of(dtype)})"
    source.report(
        node,
        f"`{called}` with a step computes in float32, whatever its dtype is",
        f"{'Make it by NumPy' if needed else 'Cast the integers'}: `{text}`.",
        fix=Fix((source.edit(node, text),), needed),
    )


def _widened(
    node: ast.AST,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
    known: Integers | None,
) -> list[ast.expr]:
    """The arrays of integers that a node makes floats of; without `known` ranges alone."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            sides = [(left, right), (right, left)]
            divides = isinstance(op, ast.Div)
            found = [
                one
                for one, other in sides
                if (
                    _range(one, imports) is not None
                    and (
                        _number(other, imports)
                        or (divides and _plain(other))
                        or _number(_value(other, method), imports)
                        or _of_number(_value(other, method), imports, method)
                    )
                )
                or (known is not None and _meets(known, one, other, divides=divides))
            ]
            return found[:1]
        case ast.Call(func=function, args=[given, *_] as args):
            called = qualified(function, imports)
            if called in _OF_FLOATS:
                made = _range(given, imports) is not None
                return [given] if made or (known and known.hold(given)) else []
            if known and called in _STRICT and known.hold(given):
                return [given]
            if known and called in _OF_SEVERAL:
                operands = args[called.endswith(".where") :]
                if any(map(known.is_number, operands)):
                    return [a for a in operands if known.hold(a)][:1]
    return []


def _meets(known: Integers, one: ast.expr, other: ast.expr, *, divides: bool) -> bool:
    """Whether an array of integers is one operand, and the other makes floats of it."""
    if not known.hold(one):
        return False
    if known.is_number(other):
        return True
    return divides and (known.is_scalar(other) or known.hold(other))


def _range(node: ast.expr, imports: Mapping[str, Import]) -> ast.Call | None:
    """The `jnp.arange(...)` without a dtype that an expression is, with more axes or another sign."""
    match node:
        case ast.Call(func=function, args=args, keywords=[]) if (
            qualified(function, imports) == "jax.numpy.arange" and len(args) <= 3
        ):
            return None if any(_number(a, imports) for a in args) else node
        case ast.UnaryOp(op=ast.USub(), operand=inner) | ast.Subscript(value=inner):
            return _range(inner, imports)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            for one, other in ((left, right), (right, left)):
                number = other.operand if isinstance(other, ast.UnaryOp) else other
                if isinstance(number, ast.Constant) and isinstance(number.value, int):
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


def _of_number(
    node: ast.expr, imports: Mapping[str, Import], method: ast.FunctionDef
) -> bool:
    """Whether jax computes it of a number, as `jnp.log(10000)`, or of what is one by default."""
    given = method.args.args[len(method.args.args) - len(method.args.defaults) :]
    pairs = zip(given, method.args.defaults, strict=True)
    numbers = {a.arg for a, d in pairs if isinstance(d, ast.Constant) and d.value}
    match node:
        case ast.UnaryOp(operand=inner):
            return _of_number(inner, imports, method)
        case ast.Call(func=function, args=[one]):
            named = isinstance(one, ast.Name) and one.id in numbers
            number = named or isinstance(one, ast.Constant) or _number(one, imports)
            return number and qualified(function, imports) in _OF_FLOATS
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
    floating = floating_of(source.tree, given)
    if floating is not None:
        return floating
    if any(isinstance(a.annotation, ast.Subscript) for a in given):
        return None
    if [a.arg for a in method.args.args] == UPDATED:
        return UPDATED[1]
    known = Evidence(Scope(source.tree)).of(method)
    other = exact_arguments(source.tree, method) | number_arguments(source.tree, method)
    told = (a.arg for a in given if known[a.arg].told and a.arg not in other)
    return next(told, None) or array_handed(source.tree, method)
