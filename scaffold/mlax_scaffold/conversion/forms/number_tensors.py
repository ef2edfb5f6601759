"""Tensors of PyTorch that hold one number of the constructor, as that number.

self.scale = torch.sqrt(torch.FloatTensor([dim])).to(device)    becomes    self.scale = math.sqrt(dim)

Indices that are made whole numbers, `torch.LongTensor(indices)`, are those indices.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_SAME = ("to", "cuda", "cpu", "float", "double", "item")
_FUNCTIONS = ("sqrt", "exp", "log", "log2", "tanh")
_TENSORS = ("torch.FloatTensor", "torch.Tensor", "torch.tensor", "torch.as_tensor")
_WHOLE = ("torch.LongTensor", "torch.IntTensor")


def without_number_tensors(origin: Origin) -> None:
    """Write them so, in place."""
    if not origin.uses("torch") or origin.imports.get("math", "math") != "math":
        return
    added = False
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for method in node.body:
            if not isinstance(method, ast.FunctionDef):
                continue
            if method.name != "__init__":
                _Indices(origin).visit(method)
                continue
            for part in walk(method):
                match part:
                    case ast.Assign(targets=[target], value=ast.Call() as value) if (
                        self_attribute(target) or isinstance(target, ast.Name)
                    ):
                        made = _number(origin, value)
                        if made is not None and _is_computed(origin, value):
                            part.value = ast.copy_location(made, value)
                            added = True
    if added and "math" not in origin.imports:
        origin.tree.body.insert(0, ast.Import([ast.alias("math")]))
        origin.forget("imports")
    located(origin.tree)


def _is_computed(origin: Origin, value: ast.expr) -> bool:
    """Whether a function of tensors is called, and not a tensor made alone."""
    calls = [p for p in walk(value) if isinstance(p, ast.Call)]
    known = {f"torch.{f}" for f in _FUNCTIONS}
    return any(origin.qualified(c.func) in known for c in calls) and any(
        origin.qualified(c.func) in _TENSORS for c in calls
    )


def _number(origin: Origin, node: ast.expr) -> ast.expr | None:
    """The number that a tensor holds; None where it is not one of these."""
    if not isinstance(node, ast.Call):
        return None
    full = origin.qualified(node.func)
    if full in _TENSORS:
        match node.args:
            case [ast.List(elts=[element])] if not isinstance(element, ast.List):
                return element
            case [ast.Constant() | ast.Attribute() as element] if full.endswith(
                "tensor"
            ):
                return element
        return None
    last = full.rpartition(".")[2]
    if full.startswith("torch.") and last in _FUNCTIONS and len(node.args) == 1:
        inner = _number(origin, node.args[0])
        return expression(f"math.{last}(x)", x=inner) if inner is not None else None
    if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME and not full:
        return _number(origin, node.func.value)
    return None


class _Indices(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self.origin.qualified(node.func) not in _WHOLE or node.keywords:
            return node
        match node.args:
            case [ast.Name() | ast.BinOp() as given]:
                return ast.copy_location(expression("(x).long()", x=given), node)
        return node
