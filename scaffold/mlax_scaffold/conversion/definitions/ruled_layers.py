"""Statements of a constructor that fill the weights of many layers, in their place among the others."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.rule_initializers import initialize
from mlax_scaffold.conversion.definitions.constructor_locals import ConstructorLocals
from mlax_scaffold.conversion.forms.initial_rules import Rule, rule_of


class RuledLayers(ConstructorLocals):
    """Reads them."""

    ruled: list[tuple[Rule, set[str]]]

    def _ruled(self, node: ast.stmt) -> bool:
        """Whether a statement fills the weights of many layers."""
        owner = self.builder.node
        if not isinstance(owner, ast.ClassDef):
            return False
        rule = rule_of(self.builder.origin, owner, node)
        if rule is not None:
            known = set(self.builder.attributes)
            initialize(self.builder, rule, own=True)
            self.ruled.append((rule, known))
        return rule is not None

    def _complete(self) -> None:
        """Declare the lists that wait for their last element, and begin their layers by rules."""
        self.lists.complete()
        for rule, known in self.ruled:
            initialize(self.builder, rule, own=True, known=known)
        for rule in self.builder.rules:
            initialize(self.builder, rule, own=False)
