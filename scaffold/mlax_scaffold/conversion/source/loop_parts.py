"""Loops, looked at: what they run over, and what they end with."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
)
from mlax_scaffold.conversion.source.walking import cloned


def iterated_over(node: ast.For, last: ast.expr) -> ast.expr | None:
    """What a loop goes over, where an expression is its element."""
    if is_name(last, ast.unparse(node.target)):
        return cloned(node.iter)
    if (
        isinstance(node.iter, ast.Call)
        and is_name(node.iter.func, "enumerate")
        and isinstance(node.target, ast.Tuple)
        and is_name(last, ast.unparse(node.target.elts[1]))
    ):
        return cloned(node.iter.args[0])
    return None


def unnumbered(generator: ast.comprehension, used: set[str]) -> None:
    """A loop without the number of the pass, and without a name, where nothing uses it."""
    target = generator.target
    if isinstance(target, ast.Name) and target.id not in used:
        generator.target = ast.Name("_", ast.Store())
    match target, generator.iter:
        case ast.Tuple(elts=targets), ast.Call(
            func=ast.Name(id="zip"), args=sources
        ) as zipped if len(targets) == len(sources):
            both = [
                _uncounted(*pair, used) for pair in zip(targets, sources, strict=True)
            ]
            target.elts, zipped.args = [t for t, _ in both], [s for _, s in both]
        case _:
            generator.target, generator.iter = _uncounted(
                generator.target, generator.iter, used
            )


def _uncounted(
    target: ast.expr, source: ast.expr, used: set[str]
) -> tuple[ast.expr, ast.expr]:
    """What a loop binds, and goes over, without a number that nothing uses."""
    match target, source:
        case ast.Tuple(elts=[ast.Name(id=number), inner]), ast.Call(
            func=ast.Name(id="enumerate"), args=[over, *_]
        ) if number not in used:
            return inner, over
    return target, source


def stride_of(larger: ast.expr, size: ast.expr) -> ast.expr | None:
    """The s of -(-size // s)."""
    match larger:
        case ast.UnaryOp(
            op=ast.USub(), operand=ast.BinOp(op=ast.FloorDiv(), left=left, right=s)
        ):
            if isinstance(left, ast.UnaryOp) and ast.unparse(
                left.operand
            ) == ast.unparse(size):
                return s
    return None


def last_of(source: ast.expr) -> ast.expr:
    if (
        isinstance(source, ast.Call)
        and is_name(source.func, "range")
        and len(source.args) == 1
    ):
        return expression("n - 1", n=source.args[0])
    if isinstance(source, ast.Tuple | ast.List) and source.elts:
        return source.elts[-1]
    if isinstance(source, ast.Call) and is_name(source.func, "reversed"):
        return _first_of(source.args[0])
    if isinstance(source, ast.Call) and is_name(source.func, "tuple"):
        return last_of(source.args[0])
    if isinstance(source, ast.Subscript) and ast.unparse(source.slice) == ":-1":
        return expression("s[-2]", s=source.value)
    return expression("s[-1]", s=source)


def _first_of(source: ast.expr) -> ast.expr:
    if isinstance(source, ast.Subscript) and ast.unparse(source.slice) == ":-1":
        return expression("s[0]", s=source.value)
    return expression("s[0]", s=source)


def one_of(attribute: str) -> str:
    return attribute[:-1] if attribute.endswith("s") else f"{attribute}_"


def applied(node: ast.For) -> ast.Call | None:
    """The call of `for layer in self.layers: x = layer(x)`; None of another loop."""
    match node:
        case ast.For(
            target=ast.Name(id=layer),
            body=[
                ast.Assign(
                    targets=[ast.Name(id=to)],
                    value=ast.Call(
                        func=ast.Name(id=called), args=[ast.Name(id=given)]
                    ) as call,
                )
            ],
        ) if called == layer and to == given:
            return call
    return None
