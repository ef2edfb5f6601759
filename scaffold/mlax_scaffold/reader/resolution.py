"""Resolves the names of a spec: what stands for what, where an expression is read."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from mlax_scaffold.model.definition import SECTIONS, Import, Kind
from mlax_scaffold.model.expressions import (
    Expression,
    Name,
    Origin,
    self_attribute,
)
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source

_ATTRIBUTES = {
    "coefficient": Origin.LOCAL,
    "container": Origin.SUB_LAYER,
    "derived": Origin.DERIVED,
    "entry": Origin.METHOD,
    "hyperparameter": Origin.HYPERPARAMETER,
    "initializer": Origin.INITIALIZER,
    "layer": Origin.SUB_LAYER,
    "layers": Origin.SUB_LAYER,
    "mask": Origin.HYPERPARAMETER,
    "method": Origin.METHOD,
    "moment": Origin.MOMENT,
    "optimizer": Origin.SUB_LAYER,
    "optimizers": Origin.SUB_LAYER,
    "scheduled": Origin.HYPERPARAMETER,
    "state": Origin.STATE,
    "sub-layer": Origin.SUB_LAYER,
    "trainable": Origin.WEIGHT,
}
"""What the reader calls an attribute of self, and what it is to an expression."""


@dataclass
class Scope:
    """What the names of a place stand for."""

    source: Source
    imports: Mapping[str, Import]
    attributes: dict[str, str] = field(default_factory=dict)
    """What each attribute of self is."""
    own: dict[str, Origin] = field(default_factory=dict)
    """Names of the place itself: inputs, locals, and the hyperparameters of a function."""

    def within(self, origin: Origin, names: Collection[str]) -> Scope:
        """The scope of a place with names of its own."""
        return replace(self, own=self.own | dict.fromkeys(names, origin))

    def expression(self, node: ast.expr) -> Expression:
        """An expression of the spec, its names resolved."""
        inner = _bound_in(node)
        names = dict.fromkeys(self._name(found, inner) for found in _names(node))
        place = self.source.location(node)
        return Expression(unparsed(node), node, tuple(names), place)

    def optional(self, node: ast.expr | None) -> Expression | None:
        """The same; None where there is none."""
        return None if node is None else self.expression(node)

    def _name(self, node: ast.expr, inner: Collection[str]) -> Name:
        attribute = self_attribute(node)
        if attribute is not None:
            what = self.attributes.get(attribute, "")
            origin = _ATTRIBUTES.get(what, Origin.UNKNOWN)
            return Name(attribute, origin, of_self=True)
        assert isinstance(node, ast.Name)
        name = node.id
        if name in inner:
            return Name(name, Origin.LOCAL)
        if name in self.own:
            return Name(name, self.own[name])
        if name in self.imports:
            return _imported(self.imports[name])
        known = name in vars(builtins)
        return Name(name, Origin.BUILTIN if known else Origin.UNKNOWN)


def _imported(imported: Import) -> Name:
    meaning = imported.meaning
    if imported.module == HERE:
        return Name(imported.name, Origin.HELPER, meaning)
    reference = imported.reference
    if reference is not None and SECTIONS[reference.section] is not Kind.FUNCTION:
        return Name(imported.name, Origin.SPEC, meaning)
    own = meaning.startswith((".", "jax.nn.initializers."))
    return Name(imported.name, Origin.WORD if own else Origin.IMPORT, meaning)


HERE = ".here"
"""The module of what stands beside a definition."""


def _names(node: ast.AST) -> Iterator[ast.expr]:
    """The variables and the attributes of self that an expression reads, in order."""
    if self_attribute(node) is not None:
        assert isinstance(node, ast.Attribute)
        yield node
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


def _bound_in(node: ast.expr) -> set[str]:
    """The variables that an expression binds itself: of lambdas, of comprehensions, by `:=`."""
    found: set[str] = set()
    for part in walk(node):
        match part:
            case ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found
