"""Attributes of PyTorch that are a list of layers under a condition, and one layer elsewhere.

if self.each:                                    if self.each:
    self.head = nn.ModuleList(...)                   self.head_list = nn.ModuleList(...)
else:                                  becomes   else:
    self.head = nn.Linear(...)                       self.head = nn.Linear(...)

Where methods read them under the same condition.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk


def with_lists_apart(origin: Origin) -> None:
    """Give such lists names of their own, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        for branch in start.body if isinstance(start, ast.FunctionDef) else ():
            if isinstance(branch, ast.If) and branch.orelse:
                _apart(origin, node, branch)


def _apart(origin: Origin, node: ast.ClassDef, branch: ast.If) -> None:
    test = ast.unparse(branch.test)
    taken = {part.attr for part in walk(node) if isinstance(part, ast.Attribute)}
    for listed, other in (
        (branch.body, branch.orelse),
        (branch.orelse, branch.body),
    ):
        first = listed is branch.body
        for place in sorted(_lists(origin, listed) & _layers(origin, other)):
            inside = [
                part
                for under in _branches(node, test, first)
                for part in _reads(under, place)
            ]
            beside = [
                part
                for under in _branches(node, test, not first)
                for part in _reads(under, place)
            ]
            everywhere = [*_reads([node], place)]
            title = f"{place}_list"
            if len(inside) + len(beside) != len(everywhere) or title in taken:
                continue
            for part in inside:
                part.attr = title


def _branches(node: ast.ClassDef, test: str, first: bool) -> Iterator[list[ast.stmt]]:
    """What is run where a condition holds, or where it does not."""
    for part in walk(node):
        if isinstance(part, ast.If) and ast.unparse(part.test) == test:
            yield part.body if first else part.orelse


def _reads(
    body: list[ast.stmt] | list[ast.ClassDef], place: str
) -> Iterator[ast.Attribute]:
    for statement in body:
        for part in walk(statement):
            if isinstance(part, ast.Attribute) and self_attribute(part) == place:
                yield part


def _lists(origin: Origin, body: list[ast.stmt]) -> set[str]:
    """The attributes that statements set to lists of layers."""
    return {p for p, full in _set(origin, body) if full == "torch.nn.ModuleList"}


def _layers(origin: Origin, body: list[ast.stmt]) -> set[str]:
    """The attributes that statements set to one layer."""
    return {
        p
        for p, full in _set(origin, body)
        if full.startswith("torch.nn.") and full != "torch.nn.ModuleList"
    }


def _set(origin: Origin, body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for part in body:
        match part:
            case ast.Assign(targets=[target], value=ast.Call(func=func)):
                place = self_attribute(target)
                if place is not None:
                    yield place, origin.qualified(func)
