"""What a spec is to say: frozen data, between what was read and what is printed."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A hyperparameter."""

    name: str
    word: str
    default: ast.expr | None = None
    comment: str = ""


@dataclass(frozen=True)
class Described:
    """One class of a spec."""

    name: str
    base: str
    doc: str
    fields: tuple[Field, ...]
    setup: tuple[ast.stmt, ...]
    methods: tuple[ast.FunctionDef, ...]
    constants: tuple[ast.stmt, ...] = ()
    example: tuple[tuple[str, object], ...] = ()
    keywords: str = ""
    keyless: frozenset[str] = frozenset()
    """Functions beside it that are given no key in inference."""


@dataclass(frozen=True)
class Function:
    """One function of a spec."""

    name: str
    doc: str
    node: ast.FunctionDef
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class SpecText:
    """A whole spec: definitions, and what stands beside them."""

    definitions: tuple[Described | Function, ...]
    beside: tuple[ast.stmt, ...] = ()
    """Functions, constants and small classes of the person's own."""
    imports: tuple[str, ...] = ()
    """Imports of the person's own modules."""
