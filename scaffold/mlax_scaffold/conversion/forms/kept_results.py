"""What a call of PyTorch keeps to be looked at, `x, self.attn = attend(q, k)`: a local that nothing reads.

A dictionary of such results, `self.outputs["mean"] = mean`, goes, with methods that nothing calls and
that read it.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.made_of import uncalled
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_none, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk


def without_kept_results(origin: Origin, notes: Notes) -> None:
    """Write such attributes as locals in place, where the file never reads them."""
    if not origin.uses("torch"):
        return
    for node in origin.classes.values():
        _without_dictionaries(origin, node, notes)
    read = {
        p.attr
        for p in walk(origin.tree)
        if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Load)
    }
    for node in origin.classes.values():
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        empty = {
            a
            for p in (walk(start) if start is not None else ())
            if isinstance(p, ast.Assign)
            and is_none(p.value)
            and (a := self_attribute(p.targets[0]))
        }
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method is not start:
                for part in walk(method):
                    if isinstance(part, ast.Assign):
                        part.targets = [_local(t, empty - read) for t in part.targets]


def _without_dictionaries(origin: Origin, node: ast.ClassDef, notes: Notes) -> None:
    start = method_of(node, "__init__")
    begun = {
        title: part
        for part in (start.body if start is not None else ())
        if isinstance(part, ast.Assign)
        and ast.unparse(part.value) in ("dict()", "{}")
        and (title := self_attribute(part.targets[0]))
    }
    for title, first in begun.items():
        stores = [p for p in walk(node) if _stores(p, title)]
        told = {id(first.targets[0])}
        told |= {id(p.targets[0].value) for p in stores}  # type: ignore[attr-defined]
        readers = [
            m
            for m in node.body
            if any(self_attribute(p) == title and id(p) not in told for p in walk(m))
        ]
        outside = any(
            isinstance(p, ast.Attribute) and p.attr == title and not self_attribute(p)
            for p in walk(origin.tree)
        )
        alone = uncalled(origin, node) if stores and not outside else set()
        if not alone >= {getattr(m, "name", "") for m in readers} or outside:
            continue
        if not stores or start is None:
            continue
        for method in readers:
            notes.remark(
                method,
                f"`{method.name}` is left out: nothing of the file calls it",  # type: ignore[attr-defined]
                "write it where it is called",
            )
        node.body = [m for m in node.body if m not in readers]
        _Gone([first, *stores]).visit(node)


def _stores(node: ast.AST, title: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Subscript(value=owner)]):
            return self_attribute(owner) == title
    return False


class _Gone(NodeTransformer):
    def __init__(self, gone: list[ast.AST]):
        self.gone = {id(g) for g in gone}

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node) if id(node) in self.gone else node


def _local(node: ast.expr, kept: set[str]) -> ast.expr:
    if not isinstance(node, ast.Tuple):
        return node
    node.elts = [
        ast.copy_location(ast.Name("_", ast.Store()), e)
        if self_attribute(e) in kept
        else e
        for e in node.elts
    ]
    return node
