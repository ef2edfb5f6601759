"""One of the results of a decomposition in a constructor of PyTorch: `q, _ = torch.linalg.qr(w)` as `[0]`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_MANY = ("torch.linalg.", "torch.qr", "torch.svd")


def with_single_results(origin: Origin) -> None:
    """Write them so, in place, where the others are not read."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                _Single(origin, method).visit(method)
                located(method)


class _Single(NodeTransformer):
    def __init__(self, origin: Origin, method: ast.FunctionDef):
        self.origin = origin
        names = [p for p in walk(method) if isinstance(p, ast.Name)]
        self.read = {p.id for p in names if isinstance(p.ctx, ast.Load)}

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=several)], value=ast.Call(func=func)
            ) if self.origin.qualified(func).startswith(_MANY):
                pass
            case _:
                return node
        kept = [
            (place, target)
            for place, target in enumerate(several)
            if not isinstance(target, ast.Name) or target.id in self.read
        ]
        if len(kept) == 1 and isinstance(kept[0][1], ast.Name):
            place, target = kept[0]
            part = expression("call[i]", call=node.value, i=ast.Constant(place))
            return ast.copy_location(ast.Assign([target], part), node)
        return node
