"""A state that is read several times after it is set is read once, and cast once.

A gradient flows back through each cast of what was set, and those of several casts would be added up
in the dtype that the state is stored in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.model.needs import reached
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    fresh,
    local_names,
    self_attribute,
    statement,
)
from mlax_scaffold.rewrite.traversal import Transformer, Visitor


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    # One that may be None is not to be cast before it is known to be there.
    sure = {
        d.name
        for d in context.definition.declared(Role.STATE)
        if not (d.optional or d.absent or d.members)
    }
    states = sure & _set_by(context)
    if not states or context.compute_dtype is None:
        return function
    taken = local_names(function) | (context.taken - states)
    return cst.ensure_type(function.visit(_Blocks(states, taken)), cst.FunctionDef)


def _set_by(context: Context) -> set[str]:
    """The states that a method sets, or one of its own that it calls."""
    methods = {m.name: m for m in context.definition.methods}
    names = [n for n in reached(methods, context.method.name) if n in context.needs]
    return {state for n in names for state in methods[n].assigns}


class _Blocks(Transformer):
    def __init__(self, states: Iterable[str], taken: set[str]):
        super().__init__()
        self.states = sorted(states)
        self.taken = taken

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body = list(updated_node.body)
        for state in self.states:
            last = max((i for i, s in enumerate(body) if _sets(s, state)), default=None)
            if last is None:
                continue
            head, rest = body[: last + 1], body[last + 1 :]
            if sum(_reads(s)[state] for s in rest) < 2:
                continue
            free = state not in self.taken
            name = fresh(state if free else f"new_{state}", self.taken)
            rest = [
                cst.ensure_type(s.visit(_Named(state, name)), type(s)) for s in rest
            ]
            body = [*head, statement(f"{name} = self.{state}"), *rest]
        return updated_node.with_changes(body=body)


def _sets(node: cst.CSTNode, state: str) -> bool:
    """Whether a statement sets the state, or all that a method or a sub-layer may set."""
    visitor = _Targets()
    node.visit(visitor)
    return bool(visitor.found & {state, "non_trainables"})


class _Targets(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._note(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._note(node.target)

    def _note(self, target: cst.BaseExpression) -> None:
        match target:
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                for element in elements:
                    self._note(element.value)
            case cst.Name(value=name):
                self.found.add(name)
            case cst.Subscript(value=value) | cst.StarredElement(value=value):
                self._note(value)
            case _:
                self.found.add(self_attribute(target) or "")


def _reads(node: cst.CSTNode) -> Counter[str]:
    """How often each attribute of `self` stands in a statement."""
    visitor = _Attributes()
    node.visit(visitor)
    return visitor.found


class _Attributes(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self.found[self_attribute(node) or ""] += 1


class _Named(Transformer):
    """Puts a name in the place of a state."""

    def __init__(self, state: str, name: str):
        super().__init__()
        self.state = state
        self.name = name

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        if self_attribute(updated_node) != self.state:
            return updated_node
        return cst.Name(self.name)
