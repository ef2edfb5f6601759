"""Numbers of PyTorch's modules that count calls, `self.calls += 1`, and that nothing reads are left out."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import located, walk


def without_unread_counters(origin: Origin) -> None:
    """Leave out what counts them, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        parts = [*walk(node)]
        counted = {p for part in parts if (p := _counted(part))}
        elsewhere = {
            part.attr
            for part in walk(origin.tree)
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load)
        }
        unread = counted - elsewhere
        if unread:
            _without(node, unread)
            located(node)


def _counted(node: ast.AST) -> str | None:
    match node:
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub(), value=value):
            number = isinstance(literal(value), int | float)
            return self_attribute(target) if number else None
    return None


def _without(node: ast.ClassDef, unread: set[str]) -> None:
    for owner in walk(node):
        for title in ("body", "orelse"):
            body = getattr(owner, title, None)
            if not isinstance(body, list) or not any(_sets(p, unread) for p in body):
                continue
            kept = [p for p in body if not _sets(p, unread)]
            setattr(owner, title, kept or ([ast.Pass()] if title == "body" else []))


def _sets(node: ast.stmt, unread: set[str]) -> bool:
    """Whether a statement counts, or gives a counter its first number."""
    if _counted(node) in unread:
        return True
    match node:
        case ast.Assign(targets=[ast.Name(id=title)], value=value):
            return title in unread and isinstance(literal(value), int | float)
        case ast.Assign(targets=[target], value=value):
            place = self_attribute(target)
            return place in unread and isinstance(literal(value), int | float)
    return False
