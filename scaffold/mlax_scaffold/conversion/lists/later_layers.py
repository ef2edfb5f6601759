"""Layers that a constructor replaces: `self.fc = Linear(...)`, and `if deep: self.fc = MLP(...)` after it.

One that wraps the layer that it replaces, `self.attn = PreNorm(dim, self.attn)`, is made with that one.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names, self_attribute, targets
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


def with_wrapping_layers(origin: Origin) -> None:
    """Write such layers of all classes of PyTorch as one, in place, before it is told what wraps them."""
    if origin.uses("torch"):
        for node in origin.classes.values():
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    while _wrapped(method.body):
                        pass


def _wrapped(body: list[ast.stmt]) -> bool:
    for at, first in enumerate(body):
        attribute, value = _set(first)
        if attribute is None or not isinstance(value, ast.Call):
            continue
        for later in range(at + 1, len(body)):
            if _wraps(first, body[at + 1 : later], body[later]):
                _Inner(attribute, value).visit(body[later])
                del body[at]
                return True
    return False


def with_later_layers(node: ast.ClassDef) -> None:
    """Write them as one choice, in place, where nothing reads the first one in between."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            while _one(method.body):
                pass


def _one(body: list[ast.stmt]) -> bool:
    """Whether one of them was written so."""
    for at, first in enumerate(body):
        attribute, value = _set(first)
        if attribute is None or not isinstance(value, ast.Call):
            continue
        for later in range(at + 1, len(body)):
            node = body[later]
            if _set(node)[0] == attribute and not _reads(node.value, attribute):  # type: ignore[attr-defined]
                del body[at]
                return True
            if isinstance(node, ast.If):
                found = [s for s in node.body if _set(s)[0] == attribute]
                if len(found) == 1 and _is_free(
                    body[at + 1 : later], node, found[0], first
                ):
                    node.body.remove(found[0])
                    choice = ast.If(cloned(node.test), [found[0]], [first])
                    body[later] = ast.copy_location(choice, node)
                    node.body = node.body or [ast.Pass()]
                    if len(node.body) > 1 or node.orelse or not _passes(node):
                        body.insert(later + 1, node)
                    del body[at]
                    return True
            if _reads(node, attribute):
                break
    return False


def _set(node: ast.stmt) -> tuple[str | None, ast.expr | None]:
    match node:
        case ast.Assign(targets=[target], value=value):
            return self_attribute(target), value
    return None, None


def _wraps(first: ast.stmt, between: list[ast.stmt], node: ast.stmt) -> bool:
    """Whether a statement replaces a layer by one that is made with it, of the same values."""
    attribute, value = _set(first)
    if _set(node)[0] != attribute or not isinstance(_set(node)[1], ast.Call):
        return False
    read = [p for p in walk(node) if self_attribute(p) == attribute]
    bound = {title for part in between for title in targets(part)}
    others = {a for part in between for a in _stored(part)}
    needed = {a for part in walk(first) if (a := self_attribute(part))}
    return (
        len(read) == 2
        and value is not None
        and not bound & names(value)
        and not others & needed
        and not any(_reads(part, str(attribute)) for part in between)
    )


def _stored(node: ast.stmt) -> set[str]:
    return {
        a
        for part in walk(node)
        if isinstance(getattr(part, "ctx", None), ast.Store)
        and (a := self_attribute(part))
    }


class _Inner(NodeTransformer):
    """Writes what makes a layer in the place of its attribute."""

    def __init__(self, attribute: str, value: ast.expr):
        self.attribute, self.value = attribute, value

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self_attribute(node) == self.attribute and isinstance(node.ctx, ast.Load):
            return self.value
        self.generic_visit(node)
        return node


def _passes(node: ast.If) -> bool:
    return isinstance(node.body[0], ast.Pass)


def _reads(node: ast.AST, attribute: str) -> bool:
    return any(self_attribute(part) == attribute for part in walk(node))


def _is_free(
    between: list[ast.stmt], node: ast.If, second: ast.stmt, first: ast.stmt
) -> bool:
    """Whether both layers are what they are at the place of the condition, and are read later alone."""
    attribute, value = _set(second)
    others = [*between, *(s for s in node.body if s is not second), *node.orelse]
    bound = {title for part in others for title in targets(part)}
    reads = any(_reads(part, str(attribute)) for part in (*others, node.test))
    inner = value is not None and _reads(value, str(attribute))
    return not reads and not inner and not bound & (names(first) | names(second))
