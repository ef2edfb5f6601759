"""Other faults: something swapped, dropped, forgotten, taken twice, or taken from next to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.benchmarks.faults.nodes import Change, is_place, with_fields

_AXES = ("axis", "axes", "dimensions")
_OTHERS = {
    "all": "any",
    "ceil": "floor",
    "concatenate": "stack",
    "cos": "sin",
    "exp": "expm1",
    "log": "log1p",
    "logical_and": "logical_or",
    "max": "min",
    "maximum": "minimum",
    "mean": "sum",
    "ones": "zeros",
    "ones_like": "zeros_like",
    "rsqrt": "sqrt",
    "square": "abs",
    "sum": "max",
    "tanh": "sin",
}
_FUNCTIONS = _OTHERS | {b: a for a, b in _OTHERS.items() if b not in _OTHERS}
_COMMUTE = {"add", "all", "any", "max", "maximum", "min", "minimum", "multiply", "zip"}
_CHOICES = ("where", "select", "cond")
_DIRECTIONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}


def changes(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    """What a node of a function becomes, with the kinds of these faults."""
    if not parents:
        return
    if isinstance(parents[-1], ast.arguments):
        yield from _defaults(node)
        return
    for change in (
        _swaps,
        _statements,
        _branches,
        _gradients,
        _reused_keys,
        _stale_states,
        _functions,
        _axes,
        _numbers,
        _directions,
        _loops,
    ):
        yield from change(node, parents)
    yield from _names(node, parents)


def _defaults(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool() as value):
            yield "default", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield "default", ast.Constant(value + 1)
        case ast.Constant(value=None):
            yield "default", ast.Constant(0)


def _swaps(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Call(args=[first, second, *rest]) if not (
            _name(node.func) in (*_COMMUTE, *_CHOICES)
            or isinstance(first, ast.Starred)
            or isinstance(second, ast.Starred)
        ):
            yield "swap", with_fields(node, args=[second, first, *rest])
        case ast.BinOp(op=ast.Sub() | ast.Div() | ast.MatMult() | ast.FloorDiv()):
            yield "swap", with_fields(node, left=node.right, right=node.left)
        case ast.Tuple(elts=[first, second, *rest], ctx=ast.Load()):
            if not isinstance(second, ast.Starred):
                yield "swap", with_fields(node, elts=[second, first, *rest])


def _statements(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Assign() | ast.AugAssign() | ast.For() | ast.Expr(value=ast.Call()):
            yield "statement", ast.Pass()
        case ast.If(orelse=[]):
            yield "statement", ast.Pass()


def _branches(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.If(body=body, orelse=[_, *_] as orelse):
            if not isinstance(orelse[0], ast.Raise):
                yield "branch", with_fields(node, body=orelse, orelse=body)
            for value in (True, False):
                yield "branch", with_fields(node, test=ast.Constant(value))
        case ast.If(test=test):
            if not isinstance(test, ast.Constant):
                yield "branch", with_fields(node, test=ast.Constant(True))
        case ast.IfExp(body=body, orelse=orelse):
            yield "branch", body
            yield "branch", orelse
        case ast.Call(args=[test, first, second, *rest]) if (
            _name(node.func) in _CHOICES
        ):
            yield "branch", with_fields(node, args=[test, second, first, *rest])


def _gradients(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Call(args=[value]) if _name(node.func) == "stop_gradient":
            yield "gradient", value


def _reused_keys(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Subscript(
            value=ast.Name(id="keys"), slice=ast.Constant(value=int() as n)
        ):
            yield "reuse", with_fields(node, slice=ast.Constant(n + 1))
        case ast.Call(func=ast.Attribute(attr="split"), args=[key, number]):
            yield "reuse", ast.BinOp(ast.List([key], ast.Load()), ast.Mult(), number)
        case ast.Assign(targets=[ast.Tuple() as targets]) if isinstance(
            node.value, ast.Call
        ) and _name(node.value.func) in ("split", "declared_keys"):
            [target, *_], elts = targets.elts, targets.elts
            yield (
                "reuse",
                with_fields(
                    node, targets=[with_fields(targets, elts=[*elts[1:], target])]
                ),
            )


def _stale_states(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.keyword(arg=str() as name, value=value) if (
            isinstance(call := parents[-1], ast.Call)
            and (owner := _owner(call)) is not None
            and not isinstance(value, ast.Attribute)
        ):
            old = ast.Attribute(ast.Name(owner, ast.Load()), name, ast.Load())
            yield "stale", with_fields(node, value=old)


def _owner(call: ast.Call) -> str | None:
    """The name of the old state where a call makes the new one."""
    name = _name(call.func)
    if name == "_replace" and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        return owner.id if isinstance(owner, ast.Name) else None
    if name.endswith("State"):
        return "state"
    return "non_trainables" if name.endswith("NonTrainables") else None


def _functions(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in _FUNCTIONS:
            other = with_fields(node.func, attr=_FUNCTIONS[name])
            yield "function", with_fields(node, func=other)
        case ast.Call(func=ast.Name(id="max" | "min" as name)):
            other = ast.Name(_FUNCTIONS[name], ast.Load())
            yield "function", with_fields(node, func=other)


def _axes(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.keyword(arg=name, value=ast.UnaryOp(operand=ast.Constant())) if (
            name in _AXES
        ):
            yield "axis", with_fields(node, value=ast.Constant(0))
        case ast.keyword(arg=name, value=ast.Tuple(elts=[first, *_])) if name in _AXES:
            yield "axis", with_fields(node, value=first)
        case ast.keyword(arg=name, value=ast.Name() | ast.Attribute() as value) if (
            name in _AXES and not isinstance(parents[-1].func, ast.Attribute)  # pyright: ignore[reportAttributeAccessIssue]
        ):
            yield "axis", with_fields(node, value=ast.Constant(0))
        case ast.Attribute(value=value, attr="T" | "mT"):
            yield "axis", value
        case ast.Call(func=ast.Attribute(value=value, attr="swapaxes" | "transpose")):
            yield "axis", node.args[0] if _is_module(value) else value
        case ast.Call(func=ast.Attribute(value=value, attr="moveaxis")):
            yield "axis", node.args[0] if _is_module(value) else value


def _numbers(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool() | str() | None):
            return
        case ast.Constant(value=int() as n) if not is_place(parents):
            yield "number", ast.Constant(n - 1)
        case ast.Constant(value=float() as n) if not is_place(parents):
            yield "number", ast.Constant(1.01 * n if n else 1e-3)


def _directions(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _DIRECTIONS:
            yield "direction", with_fields(node, ops=[_DIRECTIONS[type(op)]()])


def _loops(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Name(id="reversed"), args=[value]):
            yield "loop", value
        case ast.Call(func=ast.Name(id="range"), args=[*first, last]):
            less = ast.BinOp(last, ast.Sub(), ast.Constant(1))
            yield "loop", with_fields(node, args=[*first, less])
        case ast.For(body=body) if not isinstance(body[-1], ast.Return):
            yield "loop", with_fields(node, body=[*body, ast.Break()])


def _names(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[Change]:
    """A local in the place of another one, or of a parameter."""
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return
    match parents[-1]:
        case ast.BinOp() | ast.Return() | ast.Compare():
            pass
        case ast.Call(args=args) if node in args:
            pass
        case _:
            return
    names = _locals(parents[0])
    if node.id in names:
        other = names[(names.index(node.id) + 1) % len(names)]
        yield "name", ast.Name(other, ast.Load())


def _locals(function: ast.AST) -> list[str]:
    assert isinstance(function, ast.FunctionDef)
    found = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return sorted(found)


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_module(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("jnp", "lax", "jax")
