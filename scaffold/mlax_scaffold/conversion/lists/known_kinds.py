"""Questions of which class a layer is, `isinstance(self.downs_1, ResBlock)`, answered by what makes it."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.source.known_values import items_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_ANY = ("torch.nn.Module", "flax.nnx.Module", "equinox.Module")


def with_known_kinds(
    origin: Origin, body: list[ast.stmt], mark_of: Callable[[str], str]
) -> list[ast.stmt]:
    """Statements in which they are answered, without what is not reached then.

    Args:
        origin: the file.
        body: the statements.
        mark_of: what makes an attribute: `@own:Block` for a class of the file, `@layer:Conv` for one of the
            library; "" where that is not known.
    """
    asked = _Asked(origin, mark_of)
    found = [asked.visit(part) for part in body]
    made = [s for one in found for s in (one if isinstance(one, list) else [one])]
    return [located(part) for part in made]


class _Asked(NodeTransformer):
    def __init__(self, origin: Origin, mark_of: Callable[[str], str]):
        self.origin, self.mark_of = origin, mark_of

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[given, kinds]):
                mark = self.mark_of(self_attribute(given) or "")
                one = items_of(kinds) or [kinds]
                answers = [_is(self.origin, mark, kind) for kind in one]
                if True in answers or None not in answers:
                    return ast.copy_location(ast.Constant(True in answers), node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        decided = _truth(node.operand) if isinstance(node.op, ast.Not) else None
        return node if decided is None else ast.Constant(not decided)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        decided = _truth(node.test)
        return node if decided is None else (node.body if decided else node.orelse)

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        decided = _truth(node.test)
        return node if decided is None else (node.body if decided else node.orelse)


def _truth(node: ast.expr) -> bool | None:
    value = literal(node)
    return value if isinstance(value, bool) else None


def _is(origin: Origin, mark: str, kind: ast.expr) -> bool | None:
    """Whether a layer is one of a class; None where that is not to be told."""
    mark, _, title = mark.partition(":")
    wanted, full = getattr(kind, "id", ""), origin.qualified(kind)
    if mark == "@own" and title in origin.classes:
        line = _line(origin, origin.classes[title])
        return wanted in line or full in line if wanted in origin.classes else None
    if mark == "@layer" and wanted in origin.classes:
        return False
    return True if mark and full in _ANY else None


def _line(origin: Origin, node: ast.ClassDef) -> set[str]:
    """A class, and those that it is built on."""
    found, queue = origin.bases(node), [node]
    while queue:
        one = queue.pop()
        found.add(one.name)
        queue += [
            origin.classes[b.id]
            for b in one.bases
            if isinstance(b, ast.Name) and b.id in origin.classes
        ]
    return found
