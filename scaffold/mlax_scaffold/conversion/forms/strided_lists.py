"""Lists of layers whose strides a table says, `[nn.Conv(n, (3,), strides=s) for n, s in [(8, 2)]]`.

Their elements are written out: how large an image is behind them follows from each of the strides.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    literal,
    names,
    replaced,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import located, walk

_MOST = 8
"""Longer lists stay."""
_STARTS = {
    "flax": "setup",
    "nnx": "__init__",
    "equinox": "__init__",
    "haiku": "__init__",
}
_STRIDES = ("strides", "stride")


def without_strided_lists(origin: Origin) -> None:
    """Write them so, in place."""
    for node in origin.classes.values():
        start = _STARTS.get(framework_of(origin, node))
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == start:
                for part in walk(method):
                    if isinstance(part, ast.Assign) and self_attribute(part.targets[0]):
                        part.value = _written_out(part.value)
    located(origin.tree)


def _written_out(node: ast.expr) -> ast.expr:
    match node:
        case ast.ListComp(
            elt=ast.Call() as element,
            generators=[
                ast.comprehension(
                    target=target,
                    iter=ast.List(elts=rows) | ast.Tuple(elts=rows),
                    ifs=[],
                )
            ],
        ) if 0 < len(rows) <= _MOST:
            told = [names(k.value) for k in element.keywords if k.arg in _STRIDES]
            passes = [_parts(target, row) for row in rows]
            known = [p for p in passes if p is not None]
            if len(known) == len(rows) and any(t & {*known[0]} for t in told):
                made = [replaced(element, p) for p in known]
                return ast.copy_location(ast.List(made, ast.Load()), node)
    return node


def _parts(target: ast.expr, row: ast.expr) -> dict[str, ast.expr] | None:
    """What the names of a loop are in one pass; None where that is nothing but literals."""
    if isinstance(literal(row), ast.AST):
        return None
    match target, row:
        case ast.Name(id=title), _:
            return {title: row}
        case ast.Tuple(elts=places), ast.Tuple(elts=values) | ast.List(elts=values):
            titles = [p.id for p in places if isinstance(p, ast.Name)]
            if len(titles) == len(places) == len(values):
                return dict(zip(titles, values, strict=True))
    return None
