"""What a method may assign to: its states, and those of the layers and optimizers that it is given."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.evaluation import COMPREHENSIONS, REPEATED
from mlax_scaffold.reader.source import Source, self_attribute

_SCOPES = (ast.FunctionDef, ast.Lambda, *COMPREHENSIONS)
_NO_PLAIN_PARTS = (ast.FunctionDef, ast.Lambda, ast.AnnAssign, ast.Yield)

_OF_OTHERS = {"layer": "non_trainables", "optimizer": "state"}
"""The states of what a definition is given."""


def called_alone(method: ast.FunctionDef) -> frozenset[ast.AST]:
    """The nodes of functions inside of a method that it calls by their names, and does nothing else with."""
    once = [*_evaluated_once(method)]
    calls = {n.func for n in once if isinstance(n, ast.Call)}
    found: set[ast.AST] = set()
    for function in method.body:
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            continue
        inner = {*walk(function)} - {function}
        uses = [
            n for n in walk(method) if isinstance(n, ast.Name) and n.id == function.name
        ]
        plain = not any(isinstance(n, _NO_PLAIN_PARTS) for n in inner)
        if plain and all(n in calls for n in uses):
            found |= inner
    return frozenset(found)


def _evaluated_once(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a method without those of functions and comprehensions in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _SCOPES):
            yield child
            yield from _evaluated_once(child)


@dataclass(frozen=True)
class AssignedAttributes:
    """Checks what a method assigns to. `attributes` maps each attribute of self to what it is."""

    source: Source
    attributes: Mapping[str, str]
    settable: frozenset[str]
    anything: bool
    """Whether other names are made by an assignment."""
    declare: str
    """How a state is declared; empty where none can be."""
    threads: bool
    """Whether functions inside of the method hand states on."""
    called: Collection[ast.AST] = ()
    """Where states are locals, the nodes of functions inside of the method that are called and no more."""

    def check(self, target: ast.Attribute, context: str) -> None:
        """Report an assignment to what is no state, or where states cannot be set."""
        name = self_attribute(target)
        # What runs a function inside of a method hands states on: see `places`.
        later = context == REPEATED[0] and (self.threads or target in self.called)
        if context and not (later and self._is_state(target)):
            self.source.report(
                target,
                f"`{unparsed(target)}` cannot be assigned in {context}",
                "Return the value, and assign it outside.",
            )
        elif name is None:
            if self._is_state(target):
                return
            self.source.report(
                target, "attributes of other objects cannot be assigned in a spec"
            )
        elif self.attributes.get(name) == "unknown":
            return  # the declaration that was meant has its finding
        elif not self.anything and name not in self.settable:
            known = ", ".join(f"self.{n}" for n in sorted(self.settable))
            self.source.report(
                target,
                f"self.{name} is not a state, so it cannot be assigned here",
                self._instead(name, known),
            )
        elif self.anything and name in self.attributes and (name not in self.settable):
            self.source.report(target, f"self.{name} cannot be assigned here")

    def _is_state(self, target: ast.Attribute) -> bool:
        """Whether it is a state of the definition, or that of what it is given."""
        if name := self_attribute(target):
            number = self.attributes.get(name) == "coefficient"
            return name in self.settable and not number
        owner = self.attributes.get(self_attribute(target.value) or "", "")
        return _OF_OTHERS.get(owner) == target.attr

    def _instead(self, name: str | None, known: str) -> str:
        if self.attributes.get(name or "") == "trainable":
            return (
                f"It is a weight, which training changes: use a local, `{name} = ...`, "
                "or declare it as a state."
            )
        return f"States: {known}." if known else self._declared(name or "name")

    def _declared(self, name: str) -> str:
        if not self.declare:
            return "There is no state here: return the value."
        return f"Declare it in setup: `self.{name} = {self.declare}`."
