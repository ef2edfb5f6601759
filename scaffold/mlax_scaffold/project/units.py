"""A module cut into what is merged by itself: its imports, functions, classes, and the rest."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

IMPORTS = "imports"
HEAD = "head"
REST = "rest"


@dataclass(frozen=True)
class Unit:
    """Some lines of a module that belong together, with what stands above them."""

    name: str
    text: str
    is_class: bool = False


def cut(text: str) -> dict[str, Unit]:
    """The units of a module, in their order; their texts together are the module's.

    Raises:
        SyntaxError: it is no Python.
    """
    body = ast.parse(text).body
    imports = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom)]
    first = body.index(imports[0]) if imports else 0
    last = body.index(imports[-1]) if imports else -1
    together = imports and body[first : last + 1] == imports
    groups: list[tuple[str, list[ast.stmt]]] = []
    for number, node in enumerate(body):
        if together and first <= number <= last:
            if number == first:
                groups.append((IMPORTS, list(imports)))
            continue
        groups.append((_name(node, number), [node]))
    return _cut(text, 0, groups)


def cut_class(unit: Unit) -> dict[str, Unit]:
    """The units of a class: its head with its docstring, fields, methods."""
    [node, *_] = ast.parse(unit.text).body
    assert isinstance(node, ast.ClassDef), unit.name
    first, *_ = node.body
    has_doc = _is_text(first)
    start = (first.end_lineno or 0) if has_doc else _first_line(first) - 1
    groups: list[tuple[str, list[ast.stmt]]] = []
    for number, item in enumerate(node.body[1:] if has_doc else node.body):
        if _is_text(item) and groups:
            # What documents the field above it.
            groups[-1][1].append(item)
        else:
            groups.append((_name(item, number + 1), [item]))
    lines = unit.text.splitlines(keepends=True)
    head = Unit(HEAD, "".join(lines[:start]))
    return {HEAD: head, **_cut(unit.text, start, groups)}


def joined(units: Sequence[Unit]) -> str:
    """The text of units one after another."""
    return "".join(unit.text for unit in units)


def _cut(
    text: str, start: int, groups: Sequence[tuple[str, list[ast.stmt]]]
) -> dict[str, Unit]:
    lines = text.splitlines(keepends=True)
    found: dict[str, Unit] = {}
    for wanted, nodes in groups:
        end = nodes[-1].end_lineno or start
        name = next(n for n in _numbered(wanted) if n not in found)
        is_class = isinstance(nodes[0], ast.ClassDef)
        found[name] = Unit(name, "".join(lines[start:end]), is_class)
        start = end
    if start < len(lines):
        found[REST] = Unit(REST, "".join(lines[start:]))
    return found


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name} ({number})"
        number += 1


def _name(node: ast.stmt, number: int) -> str:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return ast.unparse(target)
    if _is_text(node) and number == 0:
        return "docstring"
    return ast.unparse(node).partition("\n")[0]


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])
