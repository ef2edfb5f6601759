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
        if rule is not None and rule.attribute and not self._fillable(rule):
            # Every other use of a class of the file would begin so, too.
            text = f"`{ast.unparse(node)}` is left out"
            self.builder.notes.remark(node, text, "give the weights initializers")
        elif rule is not None:
            known = set(self.builder.attributes)
            initialize(self.builder, rule, own=True)
            self.ruled.append((rule, known))
        return rule is not None

    def _fillable(self, rule: Rule) -> bool:
        """Whether all that an attribute holds are layers of the library."""
        held = [
            known.layer
            for attribute, known in self.builder.attributes.items()
            if rule.holds_for(attribute) and known.layer
        ]
        return bool(held) and all(layer.startswith("@layer:") for layer in held)

    def _complete(self) -> None:
        """Declare the lists that wait for their last element, and begin their layers by rules."""
        self.lists.complete()
        for rule, known in self.ruled:
            initialize(self.builder, rule, own=True, known=known)
        for rule in self.builder.rules:
            initialize(self.builder, rule, own=False)
