"""Sequences of layers of PyTorch that a class only goes over, as lists of layers.

self.blocks = nn.Sequential(*blocks)               self.blocks = nn.ModuleList(blocks)
for block in self.blocks:               becomes    for block in self.blocks:
    x = x + block(x)                                   x = x + block(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import located, walk

_OVER = ("enumerate", "zip", "reversed", "len")


def without_iterated_sequences(origin: Origin) -> None:
    """Write them so, in place: those that nothing calls as a whole."""
    read = {
        part.attr
        for part in walk(origin.tree)
        if isinstance(part, ast.Attribute) and not is_name(part.value, "self")
    }
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for part in walk(node):
            match part:
                case ast.Assign(
                    targets=[ast.Attribute(attr=place) as target],
                    value=ast.Call(
                        func=ast.Attribute() as func,
                        args=[ast.Starred(value=layers)],
                        keywords=[],
                    ) as made,
                ) if (
                    self_attribute(target)
                    and origin.qualified(func) == "torch.nn.Sequential"
                    and place not in read
                    and _is_gone_over(node, target)
                ):
                    func.attr, made.args = "ModuleList", [layers]
    located(origin.tree)


def _is_gone_over(node: ast.ClassDef, target: ast.Attribute) -> bool:
    """Whether a class goes over an attribute, and does nothing else with it."""
    uses = [
        part
        for part in walk(node)
        if part is not target and self_attribute(part) == target.attr
    ]
    over = {id(use) for part in walk(node) for use in _gone_over(part)}
    return bool(uses) and all(id(use) in over for use in uses)


def _gone_over(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.For(iter=use) | ast.comprehension(iter=use):
            return [use]
        case ast.Call(func=ast.Name(id=title), args=uses) if title in _OVER:
            return uses
        case ast.Subscript(value=use, slice=index) if not isinstance(index, ast.Slice):
            return [use]
    return []
