"""Attributes that nnx sets in all parts of a model by `train()` and `eval()`, as the mode of the call.

self.use_running_average = False        becomes        if not self.training:
if self.use_running_average:
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, literal, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_MODES = ("deterministic", "use_running_average")


def without_nnx_modes(origin: Origin) -> None:
    """Write them so, in place, where a constructor begins them with a truth."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "nnx":
            continue
        for method in node.body:
            if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
                continue
            begun = {m for part in method.body if (m := _begins(part))}
            if not begun:
                continue
            kept = [part for part in method.body if not _begins(part)]
            method.body = kept or [ast.Pass()]
            for other in node.body:
                _Reads(begun).visit(other)
        located(node)


def _begins(node: ast.stmt) -> str | None:
    match node:
        case ast.Assign(targets=[target], value=value):
            attribute = self_attribute(target)
            if attribute in _MODES and isinstance(literal(value), bool):
                return attribute
    return None


class _Reads(NodeTransformer):
    def __init__(self, begun: set[str]):
        self.begun = begun

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node) in self.begun and isinstance(node.ctx, ast.Load):
            return ast.copy_location(expression("not self.training"), node)
        return node
