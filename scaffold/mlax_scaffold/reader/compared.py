"""Finds the texts that a definition compares its hyperparameters with: those that mean something to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import self_attribute


def compared_texts(
    node: ast.ClassDef | ast.FunctionDef, constants: Mapping[str, ast.expr]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Names of hyperparameters, each with the texts in the order in which they stand.

    `self.norm == "l1"`, `norm in ("l1", "l2")`, `{"l1": ..., "l2": ...}[norm]`, and `match norm:`, also
    of each of several, as in `for norm in self.norms:`. `constants` are those beside the definition.
    """
    method = isinstance(node, ast.ClassDef)
    tables = {**constants, **dict(_assigned(node))}
    found: dict[str, dict[str, None]] = {}
    passes = dict(_passes(node))
    for part in walk(node):
        for compared, texts in _compared(part, tables):
            read = compared
            if isinstance(compared, ast.Name):
                read = passes.get(compared.id, compared)
            name = self_attribute(read) if method else None
            if not method and isinstance(read, ast.Name):
                name = read.id
            if name:
                found.setdefault(name, {}).update(dict.fromkeys(texts))
    return tuple((name, tuple(texts)) for name, texts in found.items() if texts)


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for part in walk(node):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value


def _passes(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The variables of loops and comprehensions, and what they go through."""
    for part in walk(node):
        match part:
            case (
                ast.For(target=target, iter=held)
                | ast.comprehension(target=target, iter=held)
            ):
                match target, held:
                    case (
                        ast.Tuple(elts=[_, ast.Name(id=name)]),
                        ast.Call(func=ast.Name(id="enumerate"), args=[held, *_]),
                    ):
                        yield name, held
                    case ast.Name(id=name), _:
                        yield name, held


def _compared(
    node: ast.AST, tables: Mapping[str, ast.expr]
) -> Iterator[tuple[ast.expr, list[str]]]:
    """What is compared, with texts."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            yield left, _texts(right)
            yield right, _texts(left)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[held]):
            yield left, _held(held, tables)
        case ast.Subscript(value=table, slice=read):
            yield read, _held(table, tables, mappings=True)
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[read, *_]):
            yield read, _held(table, tables, mappings=True)
        case ast.Match(subject=read, cases=cases):
            patterns = (p for c in cases for p in walk(c.pattern))
            values = (p.value for p in patterns if isinstance(p, ast.MatchValue))
            yield read, [text for value in values for text in _texts(value)]


def _held(
    node: ast.expr, tables: Mapping[str, ast.expr], *, mappings: bool = False
) -> list[str]:
    """The texts in a sequence or a set, and the keys of a dictionary."""
    if isinstance(node, ast.Name):
        node = tables.get(node.id, node)
    match node:
        case ast.Dict(keys=keys):
            return [text for key in keys if key for text in _texts(key)]
        case ast.Tuple(elts=held) | ast.List(elts=held) | ast.Set(elts=held):
            return [] if mappings else [t for item in held for t in _texts(item)]
    return []


def _texts(node: ast.expr) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [text]
    return []
