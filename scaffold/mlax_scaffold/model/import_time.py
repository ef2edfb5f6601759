"""What importing a generated module may compute: literals, arithmetic, and what is listed here.

Both walls stand on this list: the reader refuses any other default at its line in the spec, and the gate any
other expression in the text that was rendered. A name counts by what it stands for, never by how it is spelt.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from typing import Any

from mlax_scaffold.model.arithmetic import BINARY, MAX_BITS, UNARY, too_large
from mlax_scaffold.model.unparsing import unparsed

INITIALIZERS = ("ones", "uniform", "zeros")
"""Initializers of `jax.nn.initializers` that specs import from `mlax_scaffold.spec`."""
OWN_INITIALIZERS = (
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "orthogonal",
    "per_gate",
    "ring_phases",
    "ring_radii",
    "truncated_normal",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
)
"""Those of the generated package: values that pickle, work in half precision, or jax has none."""
OTHER_NAMES = {
    "kaiming_normal": "he_normal",
    "kaiming_uniform": "he_uniform",
    "xavier_normal": "glorot_normal",
    "xavier_uniform": "glorot_uniform",
}
"""Those that the package has under another name."""
_UNKNOWN_TO_JAX = ("per_gate", "ring_phases", "ring_radii")

STATIC_MODULES = (
    *("__future__", "collections", "enum", "functools", "itertools", "math", "numpy"),
    *("operator", "string", "typing"),
)
"""Modules beside jax that any generated module may import: none does anything by itself."""

NAMED_TUPLE = "typing.NamedTuple"
TYPED_DICT = "typing.TypedDict"
ENUMERATIONS = ("enum.Enum", "enum.IntEnum", "enum.StrEnum")
"""Bases of the small classes beside a definition."""

_READY = frozenset(f"jax.nn.initializers.{name}" for name in ("ones", "zeros"))
"""Functions that are initializers; all others make one."""
_MAKERS = (
    frozenset(
        [f".initializers.{name}" for name in OWN_INITIALIZERS]
        + [
            f"jax.nn.initializers.{name}"
            for name in (*INITIALIZERS, *OWN_INITIALIZERS)
            if name not in _UNKNOWN_TO_JAX
        ]
    )
    - _READY
)
_COMPUTED = frozenset(
    f"math.{name}"
    for name in (
        *("acos", "asin", "atan", "atan2", "ceil", "copysign", "cos", "cosh"),
        *("degrees", "exp", "expm1", "fabs", "floor", "hypot", "isqrt", "log"),
        *("log10", "log1p", "log2", "pow", "radians", "sin", "sinh", "sqrt"),
        *("tan", "tanh", "gcd"),
    )
)
"""Functions of numbers whose cost does not grow with what they are given."""
_CONSTANTS = frozenset(
    [f"math.{name}" for name in ("e", "inf", "nan", "pi", "tau")]
    + [f"numpy.{name}" for name in ("e", "euler_gamma", "inf", "nan", "pi")]
    + [f"jax.numpy.{name}" for name in ("e", "euler_gamma", "inf", "nan", "pi")]
)
_OF_NESTED = ("numpy.array", "numpy.asarray")
_OF_SIZES = ("arange", "eye", "linspace", "ones", "zeros")
_ARRAYS = frozenset([*_OF_NESTED, *(f"numpy.{name}" for name in _OF_SIZES)])
"""Functions of NumPy whose arrays may be constants."""

MAX_ELEMENTS = 2**16
"""Elements of an array that is made when a module is imported."""

_OWNERS = frozenset(
    [
        "jax.checkpoint_policies",
        "jax.dtypes",
        "jax.lax",
        "jax.lax.DotAlgorithmPreset",
        "jax.lax.Precision",
        "jax.lax.linalg",
        "jax.nn",
        "jax.nn.initializers",
        "jax.numpy",
        "jax.numpy.linalg",
        "jax.ops",
        "jax.random",
        "jax.scipy.linalg",
        "jax.scipy.special",
        "math",
    ]
)
"""What holds functions, dtypes and settings that a default may name."""
_OWN = ("_core", "functional", "initializers", "loss", "schedule")
"""Parts of the generated package whose names may be defaults."""
_BUILTINS = frozenset(["abs", "bool", "float", "int", "len", "max", "min", "round"])


class Refused(Exception):
    """An expression holds what importing may not compute: `node` is the part, the text says why."""

    def __init__(self, node: ast.expr, reason: str):
        super().__init__(reason)
        self.node = node


class _Opaque:
    """A value of which nothing is known, such as a function."""


def check_value(node: ast.expr, meanings: Mapping[str, str]) -> Any:
    """The number, the text or None that an expression is, and an object of no meaning for anything else.

    Args:
        node: the expression.
        meanings: the dotted name that each imported name stands for; those of the generated package
            begin with a dot.

    Raises:
        Refused: at the first part that is no literal, no arithmetic of numbers, and no name on the list.
    """
    return _value(node, meanings)


def check_constant(
    node: ast.expr, meanings: Mapping[str, str], tuples: Collection[str] = ()
) -> None:
    """The same for the constant of a module: a list, a dictionary, or one of its `tuples`, too.

    Raises:
        Refused: at the first part that is something else.
    """
    items: Iterable[ast.expr] = ()
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            pass
        case ast.BinOp(
            left=ast.List() | ast.Tuple() as repeated,
            op=ast.Mult(),
            right=ast.Constant(value=int(count)),
        ) if len(repeated.elts) * count <= MAX_ELEMENTS:
            items = [repeated]
        case ast.Dict(keys=keys, values=values) if None not in keys:
            items = (*filter(None, keys), *values)
        case ast.Lambda(args=given):
            # Its body is code of the module like that of a function: no import runs it.
            items = filter(None, (*given.defaults, *given.kw_defaults))
        case ast.Attribute(value=ast.Call() as array, attr="T"):
            items = [array]
        case ast.Call(func=made) if (
            meaning(made, meanings) in _ARRAYS or unparsed(made) in tuples
        ):
            items = [*node.args, *(keyword.value for keyword in node.keywords)]
            _check_size(node, meaning(made, meanings) or "", node.args)
        case _:
            _value(node, meanings)
    for item in items:
        check_constant(item, meanings, tuples)


def check_member(node: ast.expr, meanings: Mapping[str, str]) -> None:
    """The same for a member of an enumeration, or the default of a field.

    Raises:
        Refused: at the first part that is something else.
    """
    match node:
        case ast.Call(func=function, args=[], keywords=[]) if (
            meaning(function, meanings) == "enum.auto"
        ):
            return
    _value(node, meanings)


def _check_size(node: ast.Call, path: str, args: list[ast.expr]) -> None:
    """Refuse an array that would be large: its sizes are literals of at most `MAX_ELEMENTS`."""
    if path in _OF_NESTED or path not in _ARRAYS:
        return
    total = 1
    for number in (n for a in args for n in ast.walk(a)):
        if isinstance(number, ast.Constant) and isinstance(number.value, int | float):
            total *= max(1, abs(int(min(number.value, MAX_ELEMENTS + 1))))
        elif isinstance(number, ast.Name | ast.Call | ast.BinOp):
            raise Refused(node, f"`{unparsed(node)}` has no literal size")
    if total > MAX_ELEMENTS:
        raise Refused(node, f"`{unparsed(node)}` is too large")


def inlined(node: ast.AST, constants: Mapping[str, ast.expr]) -> Any:
    """The node with constants in the place of their names, where these are not bound in it."""
    bound = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)} | {
        n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    used = {n: value for n, value in constants.items() if n not in bound}
    return _Inline(used).visit(deepcopy(node)) if used else node


class _Inline(ast.NodeTransformer):
    def __init__(self, constants: Mapping[str, ast.expr]):
        self.constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.constants.get(node.id)
        if value is None:
            return node
        return ast.copy_location(deepcopy(value), node)


def check_initializer(node: ast.expr, meanings: Mapping[str, str]) -> None:
    """Refuse what is no known initializer: `zeros`, or a call such as `lecun_normal(in_axis=1)`.

    Raises:
        Refused: at the first part that is something else.
    """
    path = meaning(node, meanings)
    if path in _READY:
        return
    if path in _MAKERS:
        name = unparsed(node)
        raise Refused(node, f"`{name}` makes an initializer: `{name}(...)`")
    match node:
        case ast.Call(func=function, args=args, keywords=keywords):
            if meaning(function, meanings) not in _MAKERS:
                raise Refused(
                    function, f"`{unparsed(function)}` is no known initializer"
                )
            for argument in args:
                _argument(argument, meanings)
            for keyword in keywords:
                if keyword.arg is None:
                    raise Refused(keyword.value, "arguments are named one by one")
                _argument(keyword.value, meanings)
        case _:
            raise Refused(node, f"`{unparsed(node)}` is no known initializer")


def is_initializer(node: ast.expr, meanings: Mapping[str, str]) -> bool:
    """Whether an expression is a known initializer, which a signature may hold."""
    try:
        check_initializer(node, meanings)
    except Refused:
        return False
    return True


def check_annotation(node: ast.expr) -> None:
    """Refuse a type with anything in it but names, subscripts and alternatives.

    Raises:
        Refused: at the first part that is something else.
    """
    match node:
        case ast.Name():
            return
        case ast.Attribute(value=value):
            if meaning(node, {}) is not None:
                return check_annotation(value)
        case ast.Constant(value=value) if value is None or value is ...:
            return
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                check_annotation(part)
            return
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            check_annotation(left)
            return check_annotation(right)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=chosen):
            parts = chosen.elts if isinstance(chosen, ast.Tuple) else [chosen]
            if all(isinstance(part, ast.Constant) for part in parts):
                return
        case ast.Subscript(value=value, slice=inner):
            check_annotation(value)
            return check_annotation(inner)
    raise Refused(node, f"`{unparsed(node)}` cannot stand in a type")


def meaning(node: ast.expr, meanings: Mapping[str, str]) -> str | None:
    """The dotted name that a chain of attributes stands for; None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([meanings.get(node.id, node.id), *reversed(parts)])


def _argument(node: ast.expr, meanings: Mapping[str, str]) -> None:
    if not is_initializer(node, meanings):
        _value(node, meanings)


def _value(node: ast.expr, meanings: Mapping[str, str]) -> Any:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str()):
            return _bounded(node, node.value)
        case ast.Tuple(elts=items):
            for item in items:
                _value(item, meanings)
            return _Opaque()
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return _compute(node, UNARY[type(op)], _value(operand, meanings))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            numbers = _value(left, meanings), _value(right, meanings)
            return _compute(node, BINARY[type(op)], *numbers)
        case ast.Call(func=function, args=args, keywords=[]):
            path = meaning(function, meanings)
            if path in _COMPUTED and _root(function) in meanings:
                called = getattr(math, path.removeprefix("math."))
                return _compute(node, called, *(_value(a, meanings) for a in args))
            name = unparsed(function)
            raise Refused(node, f"`{name}` cannot be called at import")
        case ast.Name() | ast.Attribute():
            return _named(node, meanings)
    raise Refused(node, f"`{unparsed(node)}` cannot be computed at import")


def _named(node: ast.expr, meanings: Mapping[str, str]) -> Any:
    path, root = meaning(node, meanings), _root(node)
    if path is not None and root in meanings:
        owner, _, name = path.rpartition(".")
        if path in _CONSTANTS:
            # Each is in both modules, but for one whose value nothing turns on.
            return getattr(math, name, 0.5)
        if owner in _OWNERS and not name.startswith("_"):
            return _Opaque()
        own = path.split(".")[1:2] if path.startswith(".") else []
        # `from package.nn.rbf import Kernel, squared`, as modules of `graph` do.
        package = len(path.split(".")) == 5 and own and own != ["here"]
        beside = len(path.split(".")) == 4 and own and name.islower()
        if isinstance(node, ast.Name) and beside:
            return _Opaque()  # a function beside the definition
        own_class = meanings[root] if package else None
        if isinstance(node, ast.Name) and path == f".here.{name}":
            return _Opaque()  # a function of the module itself
        if owner in (f".here.{root}", own_class) and not name.startswith("_"):
            return _Opaque()  # a member of an enumeration of the package
        if isinstance(node, ast.Name) and own and own[0] in _OWN:
            return _Opaque()
    elif isinstance(node, ast.Name) and root in _BUILTINS:
        return _Opaque()
    raise Refused(
        node, f"`{unparsed(node)}` is no function of jax, of math or of another spec"
    )


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _compute(node: ast.expr, function: Any, *numbers: Any) -> Any:
    if not all(isinstance(number, int | float) for number in numbers):
        raise Refused(node, f"`{unparsed(node)}` computes with what is no number")
    if function is operator.pow and too_large(*numbers):
        raise Refused(node, "a number is too large")
    try:
        return _bounded(node, function(*numbers))
    except (ArithmeticError, ValueError, TypeError) as error:
        raise Refused(
            node, f"`{unparsed(node)}` cannot be computed: {error}"
        ) from error


def _bounded(node: ast.expr, value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise Refused(node, "a number is too large")
    if isinstance(value, complex):
        raise Refused(node, f"`{unparsed(node)}` is complex")
    return value
