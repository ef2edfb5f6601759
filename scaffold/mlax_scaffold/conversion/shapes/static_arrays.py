"""Arrays that are computed of hyperparameters alone, by NumPy."""

from __future__ import annotations

import ast
from typing import TypeVar

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import (
    Array,
    Number,
    Several,
    Shape,
    Value,
)
from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    literal,
    name,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

Tree = TypeVar("Tree", bound=ast.AST)


class _Numpy(NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return name("@module:np") if node.id in ("@module:jnp", "jnp") else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        below = isinstance(node.right, ast.UnaryOp) and isinstance(
            node.right.op, ast.USub
        )
        told = isinstance(node.left, ast.Constant)
        if not isinstance(node.op, ast.Pow) or not below or told:
            return node
        # The casts to floating numbers are left out, and whole ones have no such powers.
        func = ast.Attribute(name("@module:np"), "float_power", ast.Load())
        return ast.Call(func, [node.left, node.right], [])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        # What counts is whole here, which cannot be divided in place.
        value = ast.BinOp(name(node.target.id), node.op, node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        text = ast.unparse(node.func)
        if text in ("@module:np.expand_dims", "@word:require"):
            return node
        # NumPy has its own dtypes; what reads the array casts it.
        kept = [a for a in node.args if not ast.unparse(a).endswith(".dtype")]
        node.args = kept
        node.keywords = [k for k in node.keywords if k.arg != "dtype"]
        if text.endswith(".astype") and "bool" not in map(ast.unparse, node.args):
            if not isinstance(node.func, ast.Attribute) or _cuts(node):
                return node
            return node.func.value
        if text.startswith("@word:"):
            word = text[6:]
            node.func = ast.Attribute(name("@module:np"), word, ast.Load())
        if text.startswith("@module:lax."):
            node.func = ast.Attribute(name("@module:np"), text[12:], ast.Load())
        return node


def _cuts(node: ast.Call) -> bool:
    """Whether a cast may cut off fractions: one to whole numbers of what may have some."""
    kind = ast.unparse(node.args[0]).rpartition(".")[2] if node.args else ""
    assert isinstance(node.func, ast.Attribute)
    return kind.startswith("int") and not _is_whole(node.func.value)


def _is_whole(node: ast.expr) -> bool:
    """Whether an array is told to be one of whole numbers."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(map(_is_whole, parts))
        case ast.BinOp(left=left, op=op, right=right):
            return not isinstance(op, ast.Div | ast.Pow) and all(
                map(_is_whole, (left, right))
            )
        case ast.Call(func=ast.Attribute(attr="arange"), args=given):
            parts = [p for a in given for p in walk(a)]
            return not any(
                isinstance(p, ast.Div) or isinstance(getattr(p, "value", None), float)
                for p in parts
            )
        case ast.Call(func=ast.Attribute(attr="asarray" | "array"), args=[inner]):
            return _is_whole(inner)
        case ast.Subscript(value=value):
            return _is_whole(value)
    return False


def numpy_of(node: Tree) -> Tree:
    """The same expression, computed by NumPy when hyperparameters are known."""
    return _Numpy().visit(node)


MADE = ("zeros", "ones", "empty", "full")
_WHOLE = ("int", "int32", "int64", "int_", "uint8", "uint32")
_SAME = (
    *("exp", "log", "sin", "cos", "tan", "tanh", "sqrt", "square", "abs", "power"),
    *("tril", "triu", "asarray", "array", "flip", "negative", "reciprocal"),
)


def static_shape(setup: list[ast.stmt], node: ast.expr) -> list[ast.expr] | None:
    """The shape of an array that setup computes; None where its statements do not tell it."""
    match node:
        case ast.Name() | ast.Attribute():
            return _assigned_shape(setup, ast.unparse(node))
        case ast.BinOp(left=left, right=right):
            return _broadcast(static_shape(setup, left), static_shape(setup, right))
        case ast.Call(func=ast.Attribute(value=array, attr="astype" | "copy")):
            return static_shape(setup, array)
        case ast.Subscript(value=value, slice=ast.Constant(value=None)):
            inner = static_shape(setup, value)
            return [ast.Constant(1), *inner] if inner is not None else None
        case ast.Subscript(value=value, slice=ast.Tuple(elts=parts)):
            return _with_new_axes(static_shape(setup, value), parts)
        case ast.Constant(value=int() | float()):
            return []
        case ast.Call(func=func, args=[first, *rest], keywords=keywords):
            axis = next((literal(k.value) for k in keywords if k.arg == "axis"), 0)
            return _called_shape(setup, ast.unparse(func), first, rest, axis)
    return None


def _called_shape(
    setup: list[ast.stmt],
    text: str,
    first: ast.expr,
    rest: list[ast.expr],
    axis: object,
) -> list[ast.expr] | None:
    last = text.rpartition(".")[2]
    if last in MADE:
        return list(first.elts) if isinstance(first, ast.Tuple) else [first]
    if last == "arange" and not rest:
        return [first]
    if last == "arange" and len(rest) == 2 and literal(first) == 0:
        return [expression("n // s", n=rest[0], s=rest[1])]
    if last in ("arange", "linspace", "eye"):
        return _counted(last, first, rest)
    if last == "concatenate" and isinstance(first, ast.Tuple | ast.List):
        return _joined(setup, first.elts, axis)
    inner = static_shape(setup, first)
    if last == "expand_dims" and inner is not None and rest:
        at = literal(rest[0])
        if isinstance(at, int):
            place = at if at >= 0 else len(inner) + 1 + at
            return [*inner[:place], ast.Constant(1), *inner[place:]]
        return None
    if last == "outer" and rest:
        other = static_shape(setup, rest[0])
        return [*inner, *other] if inner is not None and other is not None else None
    return inner if last in _SAME else None


def _counted(last: str, first: ast.expr, rest: list[ast.expr]) -> list[ast.expr] | None:
    """The shape of numbers in order, and of ones on a diagonal."""
    if last == "eye":
        return [first, *(rest or [first])]
    if last == "linspace":
        return [rest[1]] if len(rest) > 1 else None
    if len(rest) == 1:
        ends = [literal(e) for e in (first, *rest)]
        whole = not any(isinstance(e, float) for e in ends)
        return [folded(expression("b - a", a=first, b=rest[0]))] if whole else None
    return None


def _with_new_axes(
    shape: list[ast.expr] | None, parts: list[ast.expr]
) -> list[ast.expr] | None:
    """The shape of `x[:, None]`; None where parts of axes are taken."""
    if shape is None:
        return None
    left, made = list(shape), []
    for part in parts:
        match part:
            case ast.Constant(value=None):
                made.append(ast.Constant(1))
            case ast.Slice(lower=None, upper=None, step=None) if left:
                made.append(left.pop(0))
            case _:
                return None
    return [*made, *left]


def _joined(
    setup: list[ast.stmt], parts: list[ast.expr], axis: object
) -> list[ast.expr] | None:
    """The shape of arrays of one shape that are joined along their last axis."""
    shapes = [static_shape(setup, part) for part in parts]
    first = shapes[0]
    if axis == 0 and first and all(s is not None and len(s) == 1 for s in shapes):
        axis = -1
    if axis != -1 or not first or any(s is None for s in shapes):
        return None
    texts = {ast.unparse(s[-1]) for s in shapes if s}
    if len(texts) != 1:
        return None
    return [*first[:-1], _times(len(shapes), first[-1])]


def _times(count: int, size: ast.expr) -> ast.expr:
    """A size so many times; of halves, the whole."""
    match size:
        case ast.BinOp(left=whole, op=ast.FloorDiv(), right=by) if literal(by) == count:
            return whole
    return folded(expression("n * a", n=ast.Constant(count), a=size))


def _assigned_shape(setup: list[ast.stmt], text: str) -> list[ast.expr] | None:
    """The shape of what was last assigned to a whole name, of what stood above it."""
    for place in reversed(range(len(setup))):
        part = setup[place]
        if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == text:
            return static_shape(setup[:place], part.value)
    return None


def array_of(shape: ast.expr, setup: list[ast.stmt]) -> Value:
    """A weight of the shape that a declaration gives it."""
    if isinstance(shape, ast.Attribute) and shape.attr == "shape":
        # That of an array which setup computes.
        axes = static_shape(setup, shape.value)
        return Array(axes, False) if axes is not None else None
    return Array(list(shape.elts), False) if isinstance(shape, ast.Tuple) else None


def _broadcast(
    left: list[ast.expr] | None, right: list[ast.expr] | None
) -> list[ast.expr] | None:
    if left is None or right is None:
        # A number that is computed of hyperparameters changes no shape.
        return left if left is not None else right
    longer, other = (left, right) if len(left) >= len(right) else (right, left)
    made = list(longer)
    for i in range(1, len(other) + 1):
        if literal(made[-i]) == 1:
            made[-i] = other[-i]
    return made


def filled(sizes: Value, symbols: Symbols, call: ast.Call) -> Array | None:
    """An array that a call makes of sizes; None where none of them is known."""
    items = sizes.items if isinstance(sizes, Several) else [sizes]
    known = [i.value if isinstance(i, Number) else None for i in items]
    if not any(known) or any(isinstance(i, Shape) for i in items):
        return None
    axes = [a if a is not None else symbols.fresh("_") for a in known]
    return Array(axes, False, _kind_made(call))


def _kind_made(call: ast.Call) -> str:
    """What the elements are by the dtype that is given."""
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "dtype")]
    told = [ast.unparse(a).strip("'").rpartition(".")[2] for a in given]
    if any(text in ("bool", "bool_") for text in told):
        return "Bool"
    return "Int" if any(text in _WHOLE for text in told) else "Float"
