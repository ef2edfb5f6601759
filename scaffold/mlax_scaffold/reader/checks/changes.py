"""Finds optimizers that return a weight as it is after the step, where the change of it is returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import only_value
from mlax_scaffold.reader.source import Source


def check_changes(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `return param - step` in `update` of an optimizer, and `lambda p, g: p - g` in its `step`."""
    if method.name not in ("update", "step") or "dither" not in attributes:
        return
    for value, weight, alone in _returned(method):
        term = _term(value, weight)
        if term is not None:
            source.report(
                value,
                f"`{method.name}` returns what is added to a weight, and this is the weight after it",
                f"Return the change alone, without `{weight}`.",
                fix=_without(source, term, weight) if alone else None,
            )


def _returned(method: ast.FunctionDef) -> Iterator[tuple[ast.expr, str, bool]]:
    """What is returned for one weight, what the weight is called there, and whether nothing else reads it."""
    names = [a.arg for a in (*method.args.posonlyargs, *method.args.args)]
    if len(names) < 3:
        return
    weight = names[2]
    for node in walk(method):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        value, alone = node.value, True
        if isinstance(value, ast.Name):
            alone = _is_read_once(value.id, method)
            value = next(iter(only_value(value.id, method)), value)
        if method.name == "update":
            yield value, weight, alone
        else:
            yield from ((*each, alone) for each in _of_leaves(value, weight))


def _is_read_once(name: str, method: ast.FunctionDef) -> bool:
    loads = (
        n
        for n in walk(method)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id == name
    )
    return len(list(loads)) == 1


def _of_leaves(value: ast.expr, weights: str) -> Iterator[tuple[ast.expr, str]]:
    """The same of a function that is mapped over the leaves of trees."""
    match value:
        case ast.Call(
            func=ast.Attribute(attr="map" | "tree_map"),
            args=[ast.Lambda(args=ast.arguments(args=of), body=body), *trees],
        ):
            for argument, tree in zip(of, trees, strict=False):
                if isinstance(tree, ast.Name) and tree.id == weights:
                    yield body, argument.arg


def _term(value: ast.expr, weight: str) -> ast.BinOp | None:
    """The sum in which a weight stands as it is: `w + x`, `x + w` or `w - x`."""
    match value:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()) if _is(left, weight):
            return value
        case ast.BinOp(op=ast.Add(), right=right) if _is(right, weight):
            return value
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()):
            return _term(left, weight)
    return None


def _is(node: ast.expr, weight: str) -> bool:
    return isinstance(node, ast.Name) and node.id == weight


def _without(source: Source, term: ast.BinOp, weight: str) -> Fix:
    """The sum without the weight; what was taken from it is negative."""
    if not _is(term.left, weight):
        text = _operand(source, term.left)
    elif isinstance(term.op, ast.Sub):
        text = f"-{_operand(source, term.right, negated=True)}"
    else:
        text = _operand(source, term.right)
    return Fix((source.edit(term, text),))


def _operand(source: Source, node: ast.expr, *, negated: bool = False) -> str:
    """The text of what may stand first in a sum, or behind a minus: in parentheses where it needs them."""
    text = source.text_of(node)
    match node:
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
            return text
        case ast.Constant() | ast.BinOp(op=ast.Pow()):
            return text
        case ast.BinOp(op=ast.Mult() | ast.Div() | ast.MatMult(), left=left):
            return f"({text})" if negated and _rounds(left) else text
        case ast.BinOp(op=ast.Add() | ast.Sub()) | ast.UnaryOp(op=ast.USub()):
            return f"({text})" if negated else text
    return f"({text})"


def _rounds(node: ast.expr) -> bool:
    """Whether the factor that a minus would belong to is of `//` or `%`, which take it otherwise."""
    while isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.FloorDiv | ast.Mod):
            return True
        node = node.left
    return False
