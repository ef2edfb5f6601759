"""Numbers the places of a method that take a PRNG key, in the order of the text.

A method is given one key, and splits it among its places. A loop with such places in its body is one place of
what stands around it: its key is split among its passes, and that of a pass among the places of the body.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlax_scaffold.spec.check_uses import looped
from mlax_scaffold.spec.parse_source import self_attribute

Draws = Callable[[ast.Call, Mapping[str, str]], bool]
"""Whether a call takes a key, given the variables that are layers, with the fields they come from."""


@dataclass
class Numbering:
    """The places of a method, by the identities of their nodes: calls, and loops."""

    places: int = 0
    """How many places take a part of the method's key."""
    numbers: dict[int, int] = field(default_factory=dict)
    """The number of each place among those of its method, or of the pass of its loop."""
    passes: dict[int, int] = field(default_factory=dict)
    """How many places the body of a loop has, where it has any."""


def numbered(tree: ast.AST, draws: Draws) -> Numbering:
    """The places of the tree of a method."""
    found = Numbering()
    found.places = _number(found, [tree], draws, {})
    return found


def _number(
    found: Numbering, nodes: list[Any], draws: Draws, variables: Mapping[str, str]
) -> int:
    scope = _Scope(found, draws, variables)
    for node in nodes:
        scope.visit(node)
    for number, (_, node) in enumerate(sorted(scope.places, key=lambda p: p[0])):
        found.numbers[id(node)] = number
    return len(scope.places)


class _Scope(ast.NodeVisitor):
    """Collects the places of a method, or of the body of a loop, with their positions."""

    def __init__(
        self, found: Numbering, draws: Draws, variables: Mapping[str, str]
    ) -> None:
        self.found = found
        self.draws = draws
        self.variables = variables
        self.places: list[tuple[tuple[int, int], ast.AST]] = []

    def visit_Call(self, node: ast.Call) -> None:
        if self.draws(node, self.variables):
            self.places.append(((node.lineno, node.col_offset), node))
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        inner = {**self.variables, **loop_fields(node)}
        count = _number(self.found, node.body, self.draws, inner)
        if count:
            self.found.passes[id(node)] = count
            self.places.append(((node.lineno, node.col_offset), node))
        # What is looped over is evaluated once, and so is what comes after the passes.
        for part in (node.target, node.iter, *node.orelse):
            self.visit(part)


def loop_fields(node: ast.For) -> dict[str, str]:
    """The variables of a loop that come from attributes of self, with their names."""
    pairs = ((name, self_attribute(iterated)) for name, iterated in looped(node))
    return {name: attribute for name, attribute in pairs if attribute}
