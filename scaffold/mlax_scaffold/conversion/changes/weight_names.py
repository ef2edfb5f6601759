"""Weights that constructors of PyTorch give a name, `w = self.proj.weight.data`, as what they are."""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.changes.changed_buffers import is_deep, rooted
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import targets

_STARTS = ("__init__", "init_weights", "_init_weights", "reset_parameters")
_WEIGHTS = ("weight", "bias", "in_proj_weight", "in_proj_bias")


def without_weight_names(origin: Origin) -> None:
    """Write them where they are read, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and (
                method.name in _STARTS or "init" in method.name
            ):
                _inlined(method)


def _inlined(method: ast.FunctionDef) -> None:
    bound = [t for part in ast.walk(method) for t in _bound(part)]
    for statement in list(method.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=local)], value=value) if (
                bound.count(local) == 1
            ):
                root = rooted(value)
                weight = is_deep(root) and getattr(root, "attr", "") in _WEIGHTS
                if weight:
                    method.body.remove(statement)
                    _Written(local, value).visit(method)
    if not method.body:
        method.body.append(ast.Pass())


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Assign | ast.AugAssign | ast.For | ast.AnnAssign):
        return list(targets(node))
    return []


class _Written(ast.NodeTransformer):
    def __init__(self, local: str, value: ast.expr):
        self.local, self.value = local, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.local or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(copy.deepcopy(self.value), node)
