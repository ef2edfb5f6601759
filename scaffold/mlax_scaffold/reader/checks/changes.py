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
                fix=_without(source, term) if alone else None,
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
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add() | ast.Sub()) if (
            name == weight
        ):
            return value
        case ast.BinOp(op=ast.Add(), right=ast.Name(id=name)) if name == weight:
            return value
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()):
            return _term(left, weight)
    return None


def _without(source: Source, term: ast.BinOp) -> Fix:
    """The sum without the weight; what was taken from it is negative."""
    rest = term.right
    if not isinstance(term.left, ast.Name):
        return Fix((source.edit(term, source.text_of(term.left)),))
    text = source.text_of(rest)
    if isinstance(term.op, ast.Sub):
        text = f"-({text})" if _is_sum(rest) else f"-{text}"
    return Fix((source.edit(term, text),))


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)
