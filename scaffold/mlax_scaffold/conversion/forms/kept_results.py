"""What a call of PyTorch keeps to be looked at, `x, self.attn = attend(q, k)`: a local that nothing reads."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_none, self_attribute


def without_kept_results(origin: Origin) -> None:
    """Write such attributes as locals in place, where the file never reads them."""
    if not origin.uses("torch"):
        return
    read = {
        p.attr
        for p in ast.walk(origin.tree)
        if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Load)
    }
    for node in origin.classes.values():
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        empty = {
            a
            for p in (ast.walk(start) if start is not None else ())
            if isinstance(p, ast.Assign)
            and is_none(p.value)
            and (a := self_attribute(p.targets[0]))
        }
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method is not start:
                for part in ast.walk(method):
                    if isinstance(part, ast.Assign):
                        part.targets = [_local(t, empty - read) for t in part.targets]


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
