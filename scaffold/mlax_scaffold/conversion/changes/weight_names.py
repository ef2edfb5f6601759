"""Weights that constructors of PyTorch give a name, `w = self.proj.weight.data`, as what they are.

So is a weight that is not trained by such a name, `w.requires_grad = False`, and one that is made so is
declared so: `w = nn.Parameter(x, requires_grad=False)`.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.changes.changed_buffers import is_deep, rooted
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute, targets
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_STARTS = ("__init__", "init_weights", "_init_weights", "reset_parameters")
_PARAMETER = "torch.nn.Parameter"
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
                _inlined(origin, method)


def _inlined(origin: Origin, method: ast.FunctionDef) -> None:
    bound = [t for part in walk(method) for t in _bound(part)]
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
                elif self_attribute(value):
                    _Frozen(local, value).visit(method)
                elif origin.qualified(getattr(value, "func", value)) == _PARAMETER:
                    assert isinstance(value, ast.Call)
                    _made_frozen(method, local, value)
    if not method.body:
        method.body.append(ast.Pass())


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Assign | ast.AugAssign | ast.For | ast.AnnAssign):
        return list(targets(node))
    return []


def frozen_name(node: ast.AST) -> str:
    """The local that a statement says not to be trained: `w.requires_grad = False`."""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=local), attr=attr)]):
            return local if attr == "requires_grad" else ""
    return ""


def _made_frozen(method: ast.FunctionDef, local: str, call: ast.Call) -> None:
    """Say it where the weight is made, if the constructor says it in any case."""
    said = [s for s in method.body if frozen_name(s) == local]
    several = sum(frozen_name(part) == local for part in walk(method))
    if len(said) != 1 or several > 1:
        return
    trained = said[0].value  # type: ignore[attr-defined]
    if len(call.args) < 2 and isinstance(literal(trained), bool):
        kept = [k for k in call.keywords if k.arg != "requires_grad"]
        call.keywords = [*kept, ast.keyword("requires_grad", trained)]
        method.body.remove(said[0])


class _Written(NodeTransformer):
    def __init__(self, local: str, value: ast.expr):
        self.local, self.value = local, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.local or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(cloned(self.value), node)


class _Frozen(NodeTransformer):
    """Says what a weight of the object is by its own name."""

    def __init__(self, local: str, value: ast.expr):
        self.written = _Written(local, value)
        self.local = local

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        if frozen_name(node) == self.local:
            self.written.visit(node)
        return node
