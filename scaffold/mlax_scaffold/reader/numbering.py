"""Numbers the places of a method that take a PRNG key, in the order of evaluation.

A method is given one key, and splits it among its places. A loop or a comprehension with such places in its
body is one place of what stands around it: its key is split among its passes, and that of a pass among the
places of the body. A `while` loop, whose passes are not counted before, has a key for each by its number. A
function inside of the method that draws is given a key by what calls it, which is the place, and splits it
among its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlax_scaffold.reader.closures import Closures
from mlax_scaffold.reader.evaluation import COMPREHENSIONS
from mlax_scaffold.reader.looping import looped, repeated
from mlax_scaffold.reader.source import self_attribute

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
    """How many places the body of a loop has, or of a `for` of a comprehension, where it has any.

    And that of a function that draws.
    """
    closures: Closures = field(default_factory=Closures)


def numbered(
    tree: ast.AST, draws: Draws, closures: Closures | None = None
) -> Numbering:
    """The places of the tree of a method, with the functions in it that draw or change states."""
    found = Numbering(closures=closures or Closures())
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
    """Collects the places of a method, or of the body of a loop, with where they end.

    A call ends after its arguments, which are evaluated before it.
    """

    def __init__(
        self, found: Numbering, draws: Draws, variables: Mapping[str, str]
    ) -> None:
        self.found = found
        self.draws = draws
        self.variables = variables
        self.places: list[tuple[tuple[int, int], ast.AST]] = []

    def visit_Call(self, node: ast.Call) -> None:
        run = self.found.closures.calls.get(id(node))
        drawn = run is not None and run.runs and run.effect.draws
        if drawn or self.draws(node, self.variables):
            self.places.append((_end(node), node))
        self.generic_visit(node)

    def _function(self, node: Any) -> None:
        if not self.found.closures.functions.get(id(node)):
            return self.generic_visit(node)
        body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
        count = _number(self.found, body, self.draws, self.variables)
        self.found.passes[id(node)] = count
        for part in (node.args, *getattr(node, "decorator_list", ())):
            self.visit(part)
        return None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node)

    def visit_For(self, node: ast.For) -> None:
        inner = {**self.variables, **loop_fields(node)}
        count = _number(self.found, node.body, self.draws, inner)
        if count:
            self.found.passes[id(node)] = count
            self.places.append((_end(node.body[-1]), node))
        # What is looped over is evaluated once, and so is what comes after the passes.
        for part in (node.target, node.iter, *node.orelse):
            self.visit(part)

    def visit_While(self, node: ast.While) -> None:
        count = _number(self.found, node.body, self.draws, self.variables)
        if count:
            self.found.passes[id(node)] = count
            self.places.append((_end(node.body[-1]), node))
        for part in (node.test, *node.orelse):
            self.visit(part)

    def _comprehension(self, node: Any) -> None:
        first, *others = node.generators
        inner = dict(self.variables)
        for generator in node.generators:
            inner |= loop_fields(generator)
        count = _number(self.found, repeated(node), self.draws, inner)
        if count:
            for generator in others:
                self.found.numbers[id(generator)] = 0
                self.found.passes[id(generator)] = 1
            for generator in (first, *others[:-1]):
                self.found.passes[id(generator)] = 1
            self.found.passes[id(node.generators[-1])] = count
            self.found.passes[id(node)] = count
            self.places.append((_end(node), node))
        self.visit(first.iter)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, COMPREHENSIONS):
            return self._comprehension(node)
        return super().visit(node)


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


def loop_fields(node: ast.For | ast.comprehension) -> dict[str, str]:
    """The variables of a loop that come from attributes of self, with their names."""
    pairs = ((name, self_attribute(iterated)) for name, iterated in looped(node))
    return {name: attribute for name, attribute in pairs if attribute}
