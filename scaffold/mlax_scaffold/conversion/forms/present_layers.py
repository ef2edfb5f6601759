"""Layers that a constructor always makes, which methods ask for: `if self.downsample is not None`."""

from __future__ import annotations

import ast
from collections import Counter

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_none, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_present_layers(origin: Origin) -> None:
    """Write methods of PyTorch's classes without such questions, in place."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "torch":
            continue
        present = _present(origin, node, start)
        for method in node.body:
            if not isinstance(method, ast.FunctionDef) or method is start:
                continue
            asking = _Asking(present)
            asking.visit(method)
            if asking.found:
                method.body = Decided(Known({}, {})).statements(method.body)
    located(origin.tree)


def _present(origin: Origin, node: ast.ClassDef, start: ast.FunctionDef) -> set[str]:
    """The attributes that the constructor makes layers, whatever it is given, and that nothing sets again."""
    stored = Counter(
        self_attribute(part)
        for part in walk(node)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
    )
    found: set[str] = set()
    for part in start.body:
        match part:
            case ast.Assign(targets=[target], value=ast.Call(func=func)):
                made = origin.qualified(func).startswith("torch.nn.") or (
                    getattr(func, "id", "") in origin.classes
                )
                title = self_attribute(target)
                if made and title is not None and stored[title] == 1:
                    found.add(title)
    return found


class _Asking(NodeTransformer):
    """Answers whether such a layer is None."""

    def __init__(self, present: set[str]):
        self.present, self.found = present, False

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        match node:
            case ast.Compare(
                left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[none]
            ) if is_none(none) and self_attribute(left) in self.present:
                self.found = True
                answer = ast.Constant(isinstance(op, ast.IsNot))
                return ast.copy_location(answer, node)
        return node
