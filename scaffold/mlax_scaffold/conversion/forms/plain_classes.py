"""Classes that are built on no library: what they keep beside what their call computes.

Methods that the call does not reach, `backward` and `update`, are left out: jax differentiates, and an
optimizer takes the step. What the call leaves for these alone is a local.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_none,
    names,
    reached,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_CALLS = ("__call__", "forward", "call", "apply")


def with_plain_classes(origin: Origin, notes: Notes, thing: str) -> None:
    """Write such classes so, in place, with a remark for each method."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "plain" or not is_layer_class(origin, node):
            continue
        for method in _unreached(node):
            node.body.remove(method)
            if node.name == thing:
                notes.remark(
                    method,
                    f"`{method.name}` is left out: the call does not need it",
                    "jax differentiates what the call computes, and an optimizer takes the step",
                )
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        start = methods.pop("__init__", None)
        for method in methods.values():
            for attribute in _left(start, method, methods.values()):
                _as_local(start, method, attribute)
    located(origin.tree)


def _unreached(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """The methods that neither the call nor the constructor runs."""
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    read: dict[str, ast.AST] = {}
    for title, method in methods.items():
        inner = [a for p in walk(method) if (a := self_attribute(p)) in methods]
        read[title] = ast.Tuple(
            [ast.Name(a, ast.Load()) for a in inner if a], ast.Load()
        )
    call = next((c for c in _CALLS if c in methods), "")
    kept = reached(read, ["__init__", call])
    return [
        m
        for title, m in methods.items()
        if title not in kept and not title.startswith("__") and not m.decorator_list
    ]


def _left(
    start: ast.FunctionDef | None,
    method: ast.FunctionDef,
    methods: Iterable[ast.FunctionDef],
) -> list[str]:
    """The attributes that one method sets before it reads them, and no other one knows."""
    parts = [p for p in walk(method) if isinstance(p, ast.Attribute)]
    stored: dict[str, tuple[int, int]] = {}
    for part in parts:
        attribute = self_attribute(part)
        if attribute and isinstance(part.ctx, ast.Store):
            place = part.lineno, part.col_offset
            stored[attribute] = min(stored.get(attribute, place), place)
    grown = {
        self_attribute(p.target) for p in walk(method) if isinstance(p, ast.AugAssign)
    }
    others = {self_attribute(p) for m in methods if m is not method for p in walk(m)}
    early = {
        self_attribute(p)
        for p in parts
        if isinstance(p.ctx, ast.Load)
        and (p.lineno, p.col_offset) < stored.get(self_attribute(p) or "", (0, 0))
    }
    begun = {
        a
        for s in (start.body if start is not None else [])
        for p in walk(s)
        if (a := self_attribute(p)) and not _begins_as_none(s)
    }
    return [a for a in stored if a not in {*others, *early, *begun, *grown}]


def _begins_as_none(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and _is_nothing(node.value)


def _is_nothing(value: ast.expr) -> bool:
    """Whether an attribute begins as None, or as something that is still empty."""
    return is_none(value) or ast.unparse(value) in ("{}", "[]", "dict()", "list()")


def _as_local(
    start: ast.FunctionDef | None, method: ast.FunctionDef, attribute: str
) -> None:
    """Let an attribute be a local of the method, in place; one that nothing reads is gone."""
    local = attribute.lstrip("_")
    while local in names(method) | {a.arg for a in method.args.args}:
        local = f"{local}_"
    _Local({attribute: local}).visit(method)
    reads = [
        p
        for p in walk(method)
        if isinstance(p, ast.Name) and p.id == local and isinstance(p.ctx, ast.Load)
    ]
    for part in walk(method) if not reads else ():
        for title in ("body", "orelse"):
            body = getattr(part, title, None)
            if isinstance(body, list):
                kept = [s for s in body if not _sets(s, local)]
                setattr(part, title, kept or ([ast.Pass()] if body else []))
    if start is not None:
        kept = [s for s in start.body if not _sets_none(s, attribute)]
        start.body = kept or [ast.Pass()]


def _sets(node: ast.stmt, local: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=known)]):
            return known == local
    return False


def _sets_none(node: ast.stmt, attribute: str) -> bool:
    return (
        isinstance(node, ast.Assign)
        and _is_nothing(node.value)
        and [self_attribute(t) for t in node.targets] == [attribute]
    )


class _Local(NodeTransformer):
    def __init__(self, locals_: Mapping[str, str]):
        self.locals = locals_

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        known = self.locals.get(self_attribute(node) or "")
        self.generic_visit(node)
        return ast.copy_location(ast.Name(known, node.ctx), node) if known else node
