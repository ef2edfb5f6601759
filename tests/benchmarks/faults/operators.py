"""The usual faults: a sign, a cast, a constant, a condition, a key, a state, a dtype, an axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.benchmarks.faults.nodes import (
    Change,
    is_compared,
    is_place,
    is_test,
    with_fields,
)

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CASTS = ("astype",)
_CAST_FUNCTIONS = ("cast", "in_dtype", "asarray")
_DTYPES = ("float16", "bfloat16", "float32", "float64", "dtype")
_AXES = ("axis", "axes", "axis_name", "dimensions", "keepdims")


def changes(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    """What a node of a function becomes, with the kinds of these faults."""
    if not parents or isinstance(parents[-1], ast.arguments):
        return
    for change in (
        _operators,
        _casts,
        _constants,
        _conditions,
        _keys,
        _states,
        _dtypes,
        _axes,
    ):
        yield from change(node, parents)


def _operators(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC and not _is_text(node):
            yield "operator", with_fields(node, op=_ARITHMETIC[type(op)]())
            yield "operand", node.left
            yield "sign", ast.UnaryOp(ast.USub(), node)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(
            operand, ast.Constant
        ):
            yield "sign", operand
        case ast.Return(value=ast.Tuple(elts=[first, *rest])) if rest:
            if not isinstance(first, ast.Constant):
                negative = ast.UnaryOp(ast.USub(), first)
                yield (
                    "sign",
                    with_fields(node, value=ast.Tuple([negative, *rest], ast.Load())),
                )


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(part, ast.Tuple | ast.List) for part in (node.left, node.right)
    )


def _casts(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _CASTS:
            yield "cast", value
        case ast.Call(
            func=ast.Name(id=name) | ast.Attribute(attr=name), args=[value, *_]
        ) if name in _CAST_FUNCTIONS and (len(node.args) > 1 or node.keywords):
            yield "cast", value


def _constants(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool() as value):
            if not is_place(parents):
                yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            if not is_place(parents):
                yield "constant", ast.Constant(value + 1)


def _conditions(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    simple = isinstance(node, ast.Compare) and len(node.ops) == 1
    if isinstance(node, ast.expr) and is_test(node, parents) and not simple:
        yield "condition", ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare(ops=[op], left=left, comparators=others):
            if type(op) in _COMPARISONS:
                yield "condition", ast.Compare(left, [_COMPARISONS[type(op)]()], others)
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "condition", ast.BoolOp(other, values)
            yield "condition", values[0]


def _keys(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Subscript(
            value=ast.Name(id="keys"), slice=ast.Constant(value=int() as n)
        ):
            yield "key", with_fields(node, slice=ast.Constant(n - 1 if n else 1))
        case ast.Call(func=ast.Attribute(attr="split"), args=[key, *_]):
            if isinstance(key, ast.Name):
                seed = ast.parse("jax.random.key(0)", mode="eval").body
                yield "key", with_fields(node, args=[seed, *node.args[1:]])
        case ast.Call(func=ast.Attribute(attr="fold_in"), args=[key, *_]):
            yield "key", key
        case ast.keyword(arg="key", value=ast.Subscript() | ast.Name()):
            if not isinstance(node.value, ast.Name) or node.value.id != "key":
                yield "key", with_fields(node, value=ast.Name("key", ast.Load()))


def _states(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Attribute(attr="_replace"), keywords=keywords) if (
            keywords
        ):
            for i in range(len(keywords)):
                yield (
                    "state",
                    with_fields(node, keywords=keywords[:i] + keywords[i + 1 :]),
                )
        case ast.Call(func=ast.Name(id=name), keywords=keywords) if name.endswith(
            ("State", "NonTrainables", "Trainables")
        ):
            for i, item in enumerate(keywords):
                others = [k.value for k in keywords if k is not item]
                swapped = others[0] if others else ast.Constant(None)
                changed = ast.keyword(item.arg, swapped)
                yield (
                    "state",
                    with_fields(
                        node, keywords=[*keywords[:i], changed, *keywords[i + 1 :]]
                    ),
                )
        case ast.Assign(targets=[ast.Name(id="non_trainables" | "state")]):
            yield "state", ast.Pass()


def _dtypes(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Attribute(value=ast.Name(id="jnp"), attr=name) if name in _DTYPES:
            other = "float16" if name != "float16" else "float32"
            yield "dtype", with_fields(node, attr=other)
        case ast.Attribute(attr="dtype") if not is_compared(parents):
            yield "dtype", ast.parse("jnp.float16", mode="eval").body
        case ast.keyword(arg="dtype", value=ast.BoolOp(values=values)):
            yield "dtype", with_fields(node, value=values[-1])
        case ast.keyword(arg=str() as name, value=value) if name.endswith("dtype"):
            if not isinstance(value, ast.Constant):
                yield "dtype", with_fields(node, value=ast.Constant(None))


def _axes(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.keyword(arg=name, value=ast.Constant(value=int() as n)) if (
            name in _AXES
        ):
            yield "axis", with_fields(node, value=ast.Constant(0 if n else -1))
        case ast.keyword(arg="keepdims", value=value):
            yield "axis", with_fields(node, value=ast.UnaryOp(ast.Not(), value))
        case ast.Subscript(value=value, slice=ast.Constant(value=int() as n)):
            if not isinstance(value, ast.Name) or value.id != "keys":
                yield "axis", with_fields(node, slice=ast.Constant(n + 1))
        case ast.Subscript(
            value=value,
            slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as n)),
        ):
            yield "axis", with_fields(node, slice=ast.Constant(n - 1))
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            for part, name in ((lower, "lower"), (upper, "upper")):
                if part is not None:
                    moved = ast.BinOp(part, ast.Add(), ast.Constant(1))
                    yield (
                        "axis",
                        with_fields(
                            node, slice=with_fields(node.slice, **{name: moved})
                        ),
                    )
