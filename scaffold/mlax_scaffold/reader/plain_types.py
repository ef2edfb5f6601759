"""What the types of a spec are in a generated module: words become the types that they stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import deepcopy

from mlax_scaffold.model.arrays import KINDS, OUTPUT
from mlax_scaffold.model.definition import ArrayType, Import
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.reader.checks.defaults import check_type
from mlax_scaffold.reader.source import Source
from mlax_scaffold.reader.types import (
    ARRAY_KINDS,
    read_array_type,
    read_hyper_type,
)


def plain_type(source: Source, annotation: ast.expr) -> ast.expr:
    """The annotation without words of specs; what is wrong with one is reported."""
    return _Words(source).visit(deepcopy(annotation))


def read_result_type(
    source: Source, annotation: ast.expr | None, imports: Mapping[str, Import]
) -> ArrayType | None:
    """The type of a result: arrays, a tuple of them, or the type of any other tree."""
    if annotation is None:
        return ArrayType("PyTree")
    if isinstance(annotation, ast.Name) and annotation.id in _NUMBERS:
        return read_array_type(source, annotation)
    if isinstance(annotation, ast.Name) and annotation.id == OUTPUT:
        return ArrayType("PyTree", name=OUTPUT)
    names = {n.id for n in ast.walk(annotation) if isinstance(n, ast.Name)}
    known = {name for name in names if name in imports} | (names & set(_TREES))
    # Words of other kinds, and names that nothing binds, are told as such.
    if known - {"tuple"} and names <= known | {"tuple", *ARRAY_KINDS, *WORDS}:
        plain = plain_type(source, annotation)
        check_type(source, plain)
        return ArrayType("PyTree", name=unparsed(plain))
    return read_array_type(source, annotation)


_NUMBERS = ("bool", "float", "int", "str")
_TREES = (*_NUMBERS, "Any", "dict", "list")
"""Names that the type of a tree may have, beside what the spec imports and defines."""


class _Words(ast.NodeTransformer):
    def __init__(self, source: Source):
        self.source = source

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in ARRAY_KINDS:
            array = read_array_type(self.source, node)
            return node if array is None else _expression(node, array.annotation)
        if node.id in WORDS:
            return _expression(node, WORDS[node.id].canonical)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node.value:
            case ast.Name(id=name) if name in KINDS:
                array = read_array_type(self.source, node)
                return _expression(node, "Any" if array is None else array.annotation)
            case ast.Name(id="PerDim"):
                kind = read_hyper_type(self.source, node)
                return _expression(node, "Any" if kind is None else kind.canonical)
            case ast.Name(id="Literal"):
                return node
        return self.generic_visit(node)


def _expression(node: ast.expr, text: str) -> ast.expr:
    return ast.copy_location(ast.parse(text, mode="eval").body, node)
