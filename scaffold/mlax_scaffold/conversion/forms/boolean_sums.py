"""Sums and means of masks, which the words for these take as numbers."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import expression, name
from mlax_scaffold.conversion.source.walking import walk

_WORDS = ("@word:sum", "@word:mean")
_TRUTHS = ("logical_and", "logical_or", "logical_not", "isnan", "isinf", "not_equal")
_MOVED = ("expand_dims", "squeeze", "broadcast_to", "reshape", "swapaxes", "transpose")


def of_numbers(
    node: ast.Call,
    given: list[Value],
    first: str,
    truths: Collection[str],
    *,
    indices: bool,
) -> ast.Call:
    """A call in which a mask that is summed is one of numbers, in the dtype of an input.

    Args:
        node: the call.
        given: what is known of its arguments.
        first: the name of the input.
        truths: locals that hold masks.
        indices: whether the input is one of integers: then it is counted instead.
    """
    if not isinstance(node.func, ast.Name) or node.func.id not in _WORDS:
        return node
    if node.func.id == _WORDS[0] and node.args and _is_whole(node.args[0]):
        # What is made whole numbers of is counted.
        node.func = ast.Attribute(name("@module:jnp"), "sum", ast.Load())
        return node
    value = given[0] if given else None
    mask = isinstance(value, Array) and value.kind == "Bool"
    if not mask and not (node.args and is_truth(node.args[0], truths)):
        return node
    if indices:
        last = node.func.id.rpartition(":")[2]
        node.func = ast.Attribute(name("@module:jnp"), last, ast.Load())
        return node
    cast = expression(f"m.astype({first}.dtype)", m=node.args[0])
    node.args = [ast.copy_location(cast, node), *node.args[1:]]
    return node


def count_truths(function: ast.FunctionDef) -> None:
    """Count the masks that a function beside the layers sums, in place: none of its inputs tells a dtype."""
    bound: dict[str, list[ast.expr]] = {}
    for part in walk(function):
        if isinstance(part, ast.Assign):
            for target in part.targets:
                if isinstance(target, ast.Name):
                    bound.setdefault(target.id, []).append(part.value)
    truths = {n for n, made in bound.items() if all(is_truth(v, ()) for v in made)}
    for part in walk(function):
        match part:
            case ast.Call(func=ast.Name(id=word), args=[summed, *_]):
                if word == _WORDS[0] and is_truth(summed, truths):
                    part.func = ast.Attribute(name("@module:jnp"), "sum", ast.Load())


def _is_whole(node: ast.expr) -> bool:
    """Whether an array is cast to whole numbers: `mask.astype(jnp.int32)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="astype"), args=[dtype]):
            return ast.unparse(dtype).endswith((".int32", ".int64"))
    return False


def is_truth(node: ast.expr, truths: Collection[str]) -> bool:
    """Whether an expression is a mask: a comparison, what is made of some, or a part of one."""
    match node:
        case ast.Compare():
            return True
        case ast.Name(id=local):
            return local in truths
        case ast.UnaryOp(op=ast.Invert(), operand=inner) | ast.Subscript(value=inner):
            return is_truth(inner, truths)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr(), right=right):
            return is_truth(left, truths) and is_truth(right, truths)
        case ast.Call(func=ast.Attribute(attr=attr), args=[*args]):
            moved = attr in _MOVED and bool(args) and is_truth(args[0], truths)
            return attr in _TRUTHS or moved
    return False
