"""Expressions of a spec: parsed once, by the reader, with what their names stand for.

Whatever comes after the reader asks an expression for its text, its names or its tree. Nothing parses
the text of a spec again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from mlax_scaffold.errors import Location
from mlax_scaffold.model.unparsing import unparsed


class Origin(Enum):
    """What a name in an expression stands for."""

    HYPERPARAMETER = "hyperparameter"
    INITIALIZER = "initializer"
    """A field that holds an initializer."""
    WEIGHT = "weight"
    STATE = "state"
    MOMENT = "moment"
    SUB_LAYER = "sub-layer"
    DERIVED = "derived"
    METHOD = "method"
    INPUT = "input"
    LOCAL = "local"
    HELPER = "helper"
    WORD = "word"
    """A name of `mlax_scaffold.spec`."""
    SPEC = "spec"
    IMPORT = "import"
    BUILTIN = "builtin"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Name:
    """A name that an expression reads: a variable, or an attribute of self."""

    text: str
    origin: Origin
    meaning: str = ""
    """The dotted name of what is imported; that of the generated package begins with a dot."""
    of_self: bool = False


@dataclass(frozen=True)
class Expression:
    """An expression of a spec. Two are equal where they say the same, wherever they stand."""

    text: str
    """The canonical text: on one line and without comments, `self.` still in it."""
    tree: ast.expr = field(compare=False, repr=False)
    """Shared by all who read it: to change it, change a copy."""
    names: tuple[Name, ...] = ()
    """What it reads, in the order of the text, each name once."""
    location: Location | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.text

    @property
    def bare(self) -> ast.expr:
        """The tree as documentation shows it: without `self.`. It is the caller's own."""
        return _Bare().visit(deepcopy(self.tree))

    @cached_property
    def plain(self) -> str:
        """The text of that."""
        return unparsed(self.bare)

    @cached_property
    def meanings(self) -> dict[str, str]:
        """The dotted name of what each imported name stands for."""
        return {
            name.text: name.meaning
            for name in self.names
            if name.meaning and name.origin is not Origin.HELPER
        }

    @property
    def attribute(self) -> str | None:
        """`name` where the expression is `self.name`."""
        return self_attribute(self.tree)

    @property
    def is_none(self) -> bool:
        """Whether it is the literal None."""
        return isinstance(self.tree, ast.Constant) and self.tree.value is None

    @cached_property
    def is_literal(self) -> bool:
        """Whether its value can be told without running anything."""
        try:
            ast.literal_eval(self.tree)
        except (ValueError, TypeError):
            return False
        return True

    @property
    def literal(self) -> Any:
        """The value of a literal. Raises ValueError where it is none."""
        return ast.literal_eval(self.tree)

    def reads(self, *origins: Origin) -> frozenset[str]:
        """The names that it reads; with `origins` those that stand for one of these."""
        return frozenset(
            name.text for name in self.names if not origins or name.origin in origins
        )

    def expanded(self, bound: Mapping[str, Expression], most: int = 100) -> Expression:
        """The expression with the values of local names in their place, and of the names in these.

        Where more than `most` names would be replaced, it stays as it is: it would be too
        long to be read.
        """
        if not self.reads(Origin.LOCAL) & bound.keys():
            return self
        expand = _Expand(bound, most)
        tree = _Fold().visit(expand.visit(deepcopy(self.tree)))
        if expand.count > most:
            return self
        names = dict.fromkeys(
            (
                *(n for n in self.names if n.text not in bound or n.of_self),
                *expand.names,
            )
        )
        return Expression(unparsed(tree), tree, tuple(names), self.location)


def text_of(expression: Expression | None) -> str | None:
    """The text of an expression, where there is one."""
    return None if expression is None else expression.text


def self_attribute(node: ast.AST) -> str | None:
    """`name` for the expression `self.name`."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
    return None


def named(node: ast.AST) -> str | None:
    """`name` for the expressions `name` and `self.name`."""
    return node.id if isinstance(node, ast.Name) else self_attribute(node)


def with_names(node: ast.expr, text_of: Callable[[str], str]) -> str:
    """The text of an expression with others in the place of its variables."""
    return unparsed(_Renamed(text_of).visit(deepcopy(node)))


class _Bare(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = self_attribute(node)
        if name is not None:
            return ast.copy_location(ast.Name(name, ast.Load()), node)
        self.generic_visit(node)
        return node


class _Renamed(ast.NodeTransformer):
    def __init__(self, text_of: Callable[[str], str]):
        self.text_of = text_of

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Name(self.text_of(node.id), node.ctx), node)


class _Fold(ast.NodeTransformer):
    """Tuples that are taken apart, as their parts: `(*(a, b), (a, c)[1])` is `(a, b, c)`."""

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        self.generic_visit(node)
        parts: list[ast.expr] = []
        for part in node.elts:
            match part:
                case ast.Starred(value=ast.Tuple(elts=inner)):
                    parts += inner
                case _:
                    parts.append(part)
        node.elts = parts
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else []
        if not parts or any(isinstance(part, ast.Starred) for part in parts):
            return node
        try:
            match node.slice:
                case ast.Slice(lower=lower, upper=upper, step=None):
                    bounds = (b and ast.literal_eval(b) for b in (lower, upper))
                    return ast.Tuple(parts[slice(*bounds)], ast.Load())
                case index:
                    return parts[ast.literal_eval(index)]
        except (IndexError, TypeError, ValueError):  # it is not known
            return node


class _Expand(ast.NodeTransformer):
    def __init__(self, bound: Mapping[str, Expression], most: int):
        self.bound = bound
        self.most = most
        self.count = 0
        self.names: list[Name] = []

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.bound.get(node.id)
        if value is None or self.count > self.most:
            return node
        self.count += 1
        self.names += [n for n in value.names if n.text not in self.bound or n.of_self]
        return self.visit(deepcopy(value.tree))
