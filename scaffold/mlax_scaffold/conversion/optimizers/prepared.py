"""What is computed before the leaves: numbers that only that reads are locals, and states hold their own."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


def settled(
    prepare: list[ast.stmt], update: list[ast.stmt], states: set[str]
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements of both methods, without attributes that nothing needs.

    self.mean_2 = b * self.mean + c     becomes     self.mean = b * self.mean + c
    self.mean = self.mean_2
    """
    prepare, update = _merged(prepare, update, states)
    read = {self_attribute(p) for part in update for p in walk(part)}
    for part in prepare:
        attribute = _assigned(part)
        if attribute is not None and attribute not in states | read:
            prepare = [_Renamed(attribute, name(attribute)).visit(p) for p in prepare]
    return prepare, update


def _merged(
    prepare: list[ast.stmt], update: list[ast.stmt], states: set[str]
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    for at, part in enumerate(prepare):
        match part:
            case ast.Assign(value=value) if _assigned(part) in states:
                state, number = _assigned(part), self_attribute(value)
            case _:
                continue
        begins = [i for i, p in enumerate(prepare) if _assigned(p) == number]
        if state is None or number is None or len(begins) != 1 or number in states:
            continue
        [first] = begins
        between = [*prepare[first + 1 : at], *prepare[at + 1 :], *update]
        if first > at or any(_reads(p, state) for p in between):
            continue
        new = ast.Attribute(name("self"), state, ast.Load())
        renamed = _Renamed(number, new)
        kept = [p for p in prepare if p is not part]
        return _merged(
            [renamed.visit(cloned(p)) for p in kept],
            [renamed.visit(cloned(p)) for p in update],
            states,
        )
    return prepare, update


def _assigned(node: ast.stmt) -> str | None:
    """The attribute that a statement assigns."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return self_attribute(node.targets[0])
    return None


def _reads(node: ast.stmt, attribute: str) -> bool:
    return any(
        isinstance(p, ast.Attribute) and self_attribute(p) == attribute
        for p in walk(node)
    )


class _Renamed(NodeTransformer):
    def __init__(self, attribute: str, new: ast.Name | ast.Attribute):
        self.attribute, self.new = attribute, new

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node) != self.attribute:
            return node
        made = cloned(self.new)
        made.ctx = node.ctx
        return ast.copy_location(made, node)
