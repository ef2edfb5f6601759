"""Faults of a module, by its syntax tree. Each changes one place of one function's body."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

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
_SKIPPED = ("apply", "outline")
"""Methods that every layer shares."""


@dataclass(frozen=True)
class Fault:
    """One change of a module.

    `path` is the module's file, `function` the function it is in, and `line` where it is; `before`
    and `after` are the changed expression or statement.
    """

    path: str
    kind: str
    function: str
    line: int
    before: str
    after: str
    index: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line} [{self.kind}] {self.before}  ->  {self.after}"


Change = tuple[str, ast.AST]
"""The kind of a fault, and what a node becomes."""


def faults(path: str, source: str) -> Iterator[Fault]:
    """All faults of a module, in order."""
    for index, (kind, function, node, other) in enumerate(_changes(ast.parse(source))):
        yield Fault(
            path,
            kind,
            function,
            getattr(node, "lineno", 0),
            _text(node),
            _text(other),
            index,
        )


def planted(source: str, index: int) -> ast.Module:
    """The tree of a module with the fault of that index."""
    tree = ast.parse(source)
    for i, (_, _, node, other) in enumerate(_changes(tree)):
        if i == index:
            _Replace(node, other).visit(tree)
            return ast.fix_missing_locations(tree)
    raise IndexError(index)


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, other: ast.AST) -> None:
        self.node, self.other = node, other

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.node:
            return ast.copy_location(self.other, node)
        return super().visit(node)


def _changes(tree: ast.Module) -> list[tuple[str, str, ast.AST, ast.AST]]:
    found = []
    for function in _functions(tree):
        for node, parents in _nodes(function):
            for kind, other in _of(node, parents):
                if _text(other) != _text(node):
                    found.append((kind, function.name, node, other))
    return found


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        match node:
            case ast.FunctionDef():
                yield node
            case ast.ClassDef(body=body):
                for item in body:
                    if isinstance(item, ast.FunctionDef) and item.name not in _SKIPPED:
                        yield item


def _nodes(
    function: ast.FunctionDef,
) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """The nodes of a body with those around them, without what an error says and annotations."""

    def walk(
        node: ast.AST, parents: tuple[ast.AST, ...]
    ) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
        if isinstance(node, ast.Raise):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        yield node, parents
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "args") and isinstance(
                node, ast.FunctionDef | ast.AnnAssign | ast.arg
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, (*parents, node))

    for statement in function.body:
        yield from walk(statement, (function,))


def _of(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    for change in (
        _operators,
        _casts,
        _constants,
        _conditions,
        _keys,
        _states,
        _dtypes,
    ):
        yield from change(node, parents)
    yield from _axes(node, parents)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _operators(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC and not _is_text(node):
            yield "operator", _with(node, op=_ARITHMETIC[type(op)]())
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
                    _with(node, value=ast.Tuple([negative, *rest], ast.Load())),
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
            if not _is_place(parents):
                yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            if not _is_place(parents):
                yield "constant", ast.Constant(value + 1)


def _is_place(parents: tuple[ast.AST, ...]) -> bool:
    """Whether a number is an index, which another kind changes, or says how `zip` asserts."""
    match parents[-1] if parents else None:
        case ast.Subscript() | ast.keyword(arg="strict"):
            return True
    return False


def _conditions(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    simple = isinstance(node, ast.Compare) and len(node.ops) == 1
    if isinstance(node, ast.expr) and _is_test(node, parents) and not simple:
        yield "condition", ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare(ops=[op], left=left, comparators=others):
            if type(op) in _COMPARISONS:
                yield "condition", ast.Compare(left, [_COMPARISONS[type(op)]()], others)
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "condition", ast.BoolOp(other, values)
            yield "condition", values[0]


def _is_test(node: ast.AST, parents: tuple[ast.AST, ...]) -> bool:
    """Whether it decides a branch."""
    return isinstance(parents[-1], ast.If | ast.IfExp) and parents[-1].test is node


def _keys(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Subscript(
            value=ast.Name(id="keys"), slice=ast.Constant(value=int() as n)
        ):
            yield "key", _with(node, slice=ast.Constant(n - 1 if n else 1))
        case ast.Call(func=ast.Attribute(attr="split"), args=[key, *_]):
            if isinstance(key, ast.Name):
                seed = ast.parse("jax.random.key(0)", mode="eval").body
                yield "key", _with(node, args=[seed, *node.args[1:]])
        case ast.Call(func=ast.Attribute(attr="fold_in"), args=[key, *_]):
            yield "key", key
        case ast.keyword(arg="key", value=ast.Subscript() | ast.Name()):
            if not isinstance(node.value, ast.Name) or node.value.id != "key":
                yield "key", _with(node, value=ast.Name("key", ast.Load()))


def _states(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Attribute(attr="_replace"), keywords=keywords) if (
            keywords
        ):
            for i in range(len(keywords)):
                yield "state", _with(node, keywords=keywords[:i] + keywords[i + 1 :])
        case ast.Call(func=ast.Name(id=name), keywords=keywords) if name.endswith(
            ("State", "NonTrainables", "Trainables")
        ):
            for i, item in enumerate(keywords):
                others = [k.value for k in keywords if k is not item]
                swapped = others[0] if others else ast.Constant(None)
                changed = ast.keyword(item.arg, swapped)
                yield (
                    "state",
                    _with(node, keywords=[*keywords[:i], changed, *keywords[i + 1 :]]),
                )
        case ast.Assign(targets=[ast.Name(id="non_trainables" | "state")]):
            yield "state", ast.Pass()


def _dtypes(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Attribute(value=ast.Name(id="jnp"), attr=name) if name in _DTYPES:
            other = "float16" if name != "float16" else "float32"
            yield "dtype", _with(node, attr=other)
        case ast.Attribute(attr="dtype") if not _is_compared(parents):
            yield "dtype", ast.parse("jnp.float16", mode="eval").body
        case ast.keyword(arg="dtype", value=ast.BoolOp(values=values)):
            yield "dtype", _with(node, value=values[-1])
        case ast.keyword(arg=str() as name, value=value) if name.endswith("dtype"):
            if not isinstance(value, ast.Constant):
                yield "dtype", _with(node, value=ast.Constant(None))


def _is_compared(parents: tuple[ast.AST, ...]) -> bool:
    return bool(parents) and isinstance(parents[-1], ast.Compare)


def _axes(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.keyword(arg=name, value=ast.Constant(value=int() as n)) if (
            name in _AXES
        ):
            yield "axis", _with(node, value=ast.Constant(0 if n else -1))
        case ast.keyword(arg="keepdims", value=value):
            yield "axis", _with(node, value=ast.UnaryOp(ast.Not(), value))
        case ast.Subscript(value=value, slice=ast.Constant(value=int() as n)):
            if not isinstance(value, ast.Name) or value.id != "keys":
                yield "axis", _with(node, slice=ast.Constant(n + 1))
        case ast.Subscript(
            value=value,
            slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as n)),
        ):
            yield "axis", _with(node, slice=ast.Constant(n - 1))
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            for part, name in ((lower, "lower"), (upper, "upper")):
                if part is not None:
                    moved = ast.BinOp(part, ast.Add(), ast.Constant(1))
                    yield "axis", _with(node, slice=_with(node.slice, **{name: moved}))
