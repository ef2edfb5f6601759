"""Functions of the file that make floating arrays of numbers alone: in the dtype of where they are used."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from mlax_scaffold.conversion.output.description import HelperDtypes
from mlax_scaffold.conversion.shapes.static_arrays import numpy_of
from mlax_scaffold.conversion.shapes.values import Array, Several, Value
from mlax_scaffold.conversion.source.trees import expression, literal, name
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_DTYPE = "dtype"
_ELEMENTWISE = frozenset(
    (
        *("sin", "cos", "tan", "tanh", "exp", "exp2", "log", "log2", "sqrt", "rsqrt"),
        *("power", "outer", "linspace", "logspace", "sigmoid", "reciprocal", "hanning"),
    )
)
_FILLED = frozenset(("zeros", "ones", "full", "eye"))
_TOGETHER = frozenset(
    (
        *("concatenate", "stack", "hstack", "vstack", "expand_dims", "repeat", "tile"),
        *("transpose", "swapaxes", "reshape", "broadcast_to", "squeeze", "flip"),
        *("minimum", "maximum", "where", "abs", "square", "ravel", "flatten"),
    )
)


@dataclass
class HelperCalls:
    """Calls of functions of the file that one definition is found to make."""

    dtyped: set[str] = field(default_factory=set)
    arrays: list[tuple[str, str, Array]] = field(default_factory=list)

    def told(self) -> HelperDtypes:
        """What they tell, once all is known of the arrays."""
        kinds = frozenset((f, p, array.kind) for f, p, array in self.arrays)
        return HelperDtypes(frozenset(self.dtyped), kinds)


def without_wide_casts(helper: ast.FunctionDef, array: str) -> ast.FunctionDef:
    """A function that casts to the dtype of an input what it cast to a wide one."""
    given = {a.arg for a in (*helper.args.args, *helper.args.kwonlyargs)}

    class Casts(NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            func = node.func
            cast = isinstance(func, ast.Attribute) and func.attr == "astype"
            if not cast or not casts_to(node, WIDE):
                return node
            assert isinstance(func, ast.Attribute)
            if name_of_view(func.value) == array and array in given:
                return func.value
            node.args = [expression(f"{array}.dtype")]
            return node

    return Casts().visit(helper)


def name_of_view(node: ast.expr) -> str:
    """The name of the array that an expression is, or is a part of; "" for what is computed."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def makes_floats(helper: ast.FunctionDef) -> bool:
    """Whether a function that names no dtype of its own for them returns floating arrays, by its text."""
    taken = {a.arg for a in (*helper.args.args, *helper.args.kwonlyargs)}
    if _DTYPE in taken:
        return False
    values = _values(helper)
    return any(_floats(part, values) for part in _returned(helper))


def is_given_arrays(given: list[Value], call: ast.Call | None = None) -> bool:
    """Whether there is an array among the arguments, or what may be one."""
    pairs = zip(call.args, given, strict=False) if call is not None else ()
    if any(value is None and isinstance(part, ast.Name) for part, value in pairs):
        # A local of which nothing is known.
        return True
    return any(
        isinstance(value, Array)
        or (isinstance(value, Several) and is_given_arrays(value.items))
        for value in given
    )


def in_dtype(helper: ast.FunctionDef, modules: Collection[str]) -> None:
    """Have a function of numbers compute by NumPy, and return floating arrays in a given dtype.

    Args:
        helper: the function.
        modules: what the file calls `jax.numpy`.
    """
    values = _values(helper)
    floats = [id(part) for part in _returned(helper) if _floats(part, values)]

    class Cast(NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if not isinstance(node, ast.expr) or id(node) not in floats:
                return self.generic_visit(node)
            # What is computed when a function is traced has no dtype in the program.
            return expression(f"j.asarray(a, {_DTYPE})", j=name("@kept"), a=node)

    Cast().visit(helper)
    for part in walk(helper):
        if isinstance(part, ast.Name) and part.id in modules:
            part.id = "@module:jnp"
    helper.body = [numpy_of(part) for part in helper.body]
    for part in walk(helper):
        if isinstance(part, ast.Name) and part.id == "@kept":
            part.id = "@module:jnp"
    helper.args.kwonlyargs.append(ast.arg(_DTYPE))
    helper.args.kw_defaults.append(ast.Constant(None))


def float_named(env: dict[str, Value], first: str) -> str | None:
    """The local that is a floating array: the first input, otherwise the last that was bound."""
    floats = [n for n, v in env.items() if isinstance(v, Array) and v.kind == "Float"]
    return first if first in floats else next(reversed(floats), None)


def with_dtype(call: ast.Call, array: str) -> ast.Call:
    """A call that gives the dtype of an array."""
    given = ast.keyword(_DTYPE, ast.Attribute(name(array), "dtype", ast.Load()))
    call.keywords.append(given)
    return call


def _returned(helper: ast.FunctionDef) -> list[ast.expr]:
    """What a function returns, each element of a tuple by itself."""
    found: list[ast.expr] = []
    for node in walk(helper):
        if isinstance(node, ast.Return) and node.value is not None:
            value = node.value
            found += value.elts if isinstance(value, ast.Tuple) else [value]
    return found


def _values(helper: ast.FunctionDef) -> dict[str, ast.expr]:
    """What each local was last assigned, where that is one expression."""
    found: dict[str, ast.expr] = {}
    for node in walk(helper):
        match node:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                found[local] = value
            case ast.Assign(
                targets=[ast.Tuple(elts=places)], value=ast.Tuple(elts=all_)
            ):
                for place, value in zip(places, all_, strict=False):
                    if isinstance(place, ast.Name):
                        found[place.id] = value
    return found


def _floats(node: ast.expr, values: dict[str, ast.expr], depth: int = 0) -> bool:
    """Whether an expression is a floating array that nothing gives another dtype."""
    if depth > 20:
        return False

    def inner(part: ast.expr) -> bool:
        return _floats(part, values, depth + 1)

    match node:
        case ast.Name(id=local) if local in values:
            return inner(values[local])
        case ast.BinOp(left=left, right=right):
            return inner(left) or inner(right)
        case ast.UnaryOp(operand=operand):
            return inner(operand)
        case ast.Subscript(value=value):
            return inner(value)
        case ast.Attribute(value=value, attr="T"):
            return inner(value)
        case ast.Call(func=ast.Attribute(value=owner, attr=last), args=args):
            return _called(node, owner, last, args, inner)
    return False


def _called(
    node: ast.Call,
    owner: ast.expr,
    last: str,
    args: list[ast.expr],
    inner: Callable[[ast.expr], bool],
) -> bool:
    if last == "astype" or any(k.arg == _DTYPE for k in node.keywords):
        return False
    if last in _FILLED:
        return len(args) < 3
    if last in _ELEMENTWISE and ast.unparse(owner) != "math":
        return True
    if last == "arange":
        return any(isinstance(literal(a), float) for a in args)
    if last in _TOGETHER:
        parts = [e for a in args for e in getattr(a, "elts", [a])]
        return inner(owner) or any(map(inner, parts))
    return False


WIDE = ("float32", "float64", "float_")
WHOLE = ("int32", "int64", "int_", "int")


def casts_to(call: ast.Call, dtypes: Collection[str]) -> bool:
    """Whether a call of `astype` names one of these, or what is as wide at least as one."""
    given = call.args[0] if len(call.args) == 1 else None
    if isinstance(given, ast.Call):
        func = ast.unparse(given.func).rpartition(".")[2]
        parts = given.args if func in ("promote_types", "result_type") else []
        return any(_dtype_named(part) in dtypes for part in parts)
    return given is not None and _dtype_named(given) in dtypes


def _dtype_named(node: ast.expr) -> str:
    return ast.unparse(node).strip("'").rpartition(".")[2]
