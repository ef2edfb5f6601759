"""Finds optimizers that return the weight after the step, or states, where its change is returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.local_values import only_value
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
    functions = (n for n in walk(method) if isinstance(n, ast.FunctionDef))
    inside = {id(n) for f in functions if f is not method for n in walk(f)}
    for value, weight, returned in _returned(method):
        if method.name == "update" and isinstance(value, ast.Tuple | ast.List):
            if id(returned) in inside:
                continue  # a function inside of the method returns what it likes
            # optax returns states beside the updates, and other libraries the new weights.
            source.report(
                value,
                "`update` returns what is added to a weight, and nothing beside it",
                "Set what is kept, as in `self.trace = trace`, and return the change alone.",
            )
            continue
        if not _is_after(value, weight):
            continue
        alone = returned is value or _is_read_once(returned, method)
        source.report(
            value,
            f"`{method.name}` returns what is added to a weight, and this is the weight after it",
            f"Return the change alone, without `{weight}`.",
            fix=_changed(source, value, weight)
            if alone and not isinstance(value, ast.Name)
            else _difference(source, returned, weight),
        )


def _returned(method: ast.FunctionDef) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    """What is returned for one weight, what the weight is called there, and the expression of the statement.

    They differ where a local holds it.
    """
    names = [a.arg for a in (*method.args.posonlyargs, *method.args.args)]
    if len(names) < 3:
        return
    weight = names[2]
    for node in walk(method):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        if method.name == "update":
            chosen = ((part, weight) for part in _chosen(node.value))
        else:
            chosen = (
                (part, name)
                for value in _values(node.value, method)
                for body, name in _of_leaves(value, weight)
                for part in _chosen(body)
            )
        for part, name in chosen:
            yield from ((value, name, part) for value in _values(part, method))


def _values(node: ast.expr, method: ast.FunctionDef) -> list[ast.expr]:
    """What a local holds; of all else itself."""
    return (only_value(node.id, method) if isinstance(node, ast.Name) else []) or [node]


def _chosen(node: ast.expr) -> Iterator[ast.expr]:
    """The values of which an expression is one."""
    match node:
        case ast.IfExp(body=one, orelse=other):
            yield from (*_chosen(one), *_chosen(other))
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, one, other]):
            yield from (*_chosen(one), *_chosen(other))
        case _:
            yield node


def _is_read_once(local: ast.expr, method: ast.FunctionDef) -> bool:
    name = local.id if isinstance(local, ast.Name) else ""
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


def _is_after(value: ast.expr, weight: str) -> bool:
    """Whether a weight is part of a value as it is, or less a share: that is the weight after a step."""
    match value:
        case ast.BinOp(left=left, op=ast.Div()):
            return _is_after(left, weight)
    terms = [*_terms(value)]
    if not isinstance(value, ast.BinOp) or (
        any(_is(term, weight) and not added for term, added in terms)
    ):
        return False
    return any(
        added and (_is(term, weight) or _share(term, weight) is not None)
        for term, added in terms
    )


def _terms(value: ast.expr, *, added: bool = True) -> Iterator[tuple[ast.expr, bool]]:
    """The terms of a sum, and whether each is added, and not taken from it."""
    match value:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield from _terms(left, added=added)
            yield from _terms(right, added=added == isinstance(op, ast.Add))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _terms(operand, added=not added)
        case _:
            yield value, added


def _share(term: ast.expr, weight: str) -> ast.expr | None:
    """`decay` of `w * (1 - decay)`."""
    match term:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for one, other in ((left, right), (right, left)):
                match other:
                    case ast.BinOp(
                        left=ast.Constant(value=1), op=ast.Sub(), right=share
                    ) if _is(one, weight):
                        return share
    return None


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


def _changed(source: Source, value: ast.expr, weight: str) -> Fix:
    """A sum without the weight, or with the share of it that is lost."""
    term = _term(value, weight)
    if term is not None:
        return _without(source, term, weight)
    first, _ = next(_terms(value))
    share = _share(first, weight)
    if share is None:
        return _difference(source, value, weight)
    text = f"-{_operand(source, share, negated=True)} * {weight}"
    return Fix((source.edit(first, text),))


def _difference(source: Source, returned: ast.expr, weight: str) -> Fix:
    """What is returned, less the weight."""
    text = _operand(source, returned)
    return Fix((source.edit(returned, f"{text} - {weight}"),))


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
