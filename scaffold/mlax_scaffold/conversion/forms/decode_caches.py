"""Attention of flax that may keep what it has seen, one position at a time: as it is where it does not.

A setting that attention is told to `decode` by is False, wherever the file reads it.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_ATTENTION = frozenset(
    (
        *("flax.linen.MultiHeadDotProductAttention", "flax.linen.MultiHeadAttention"),
        *("flax.linen.SelfAttention", "flax.nnx.MultiHeadAttention"),
    )
)
_FLAG = "decode"


def without_decode_caches(origin: Origin, thing: str, notes: Notes) -> None:
    """Write what a class is made of so, in place, and say so."""
    used = [c for c in origin.classes.values() if c.name in used_by(origin, thing)]
    told = next((p for c in used for p in walk(c) if _is_told(origin, p)), None)
    if told is None:
        return
    notes.remark(
        told,
        f"`{_FLAG}` is False: no layer keeps the keys and values of earlier positions",
        "give it all positions, or keep them in states of your own",
    )
    known = Known({}, {})
    for node in origin.classes.values():
        titles = [_FLAG] if not _has_method(node) else []
        _False(titles).visit(node)
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                part.body = Decided(known).statements(part.body)
        node.body = [p for p in node.body if not _is_field(p)] or [ast.Pass()]


def _is_told(origin: Origin, node: ast.AST) -> bool:
    """Whether attention is told so by a setting."""
    return (
        isinstance(node, ast.Call)
        and origin.qualified(node.func) in _ATTENTION
        and any(
            k.arg == _FLAG and not isinstance(k.value, ast.Constant)
            for k in node.keywords
        )
    )


def _has_method(node: ast.ClassDef) -> bool:
    return any(getattr(part, "name", "") == _FLAG for part in node.body)


def _is_field(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == _FLAG


class _False(NodeTransformer):
    """Takes the setting to be False, and no parameter of anything."""

    def __init__(self, own: list[str]):
        self.own = own

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        of_class = isinstance(node.value, ast.Name) and node.value.id == "self"
        reads = isinstance(node.ctx, ast.Load) and node.attr == _FLAG
        if reads and (self.own or not of_class):
            return ast.copy_location(ast.Constant(False), node)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == _FLAG and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant(False), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.keywords = [k for k in node.keywords if k.arg != _FLAG]
        # A method of that name is one.
        if getattr(node.func, "attr", "") != _FLAG:
            node.func = self.visit(node.func)
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [self.visit(k) for k in node.keywords]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        self.generic_visit(node)
        kept = node.targets[0]
        # `self.decode = decode`
        return None if getattr(kept, "attr", "") == _FLAG else node

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        late = len(node.args) - len(node.defaults)
        for place, argument in enumerate(list(node.args)):
            if argument.arg == _FLAG and place >= late:
                node.args.remove(argument)
                del node.defaults[place - late]
        for argument, default in zip(
            list(node.kwonlyargs), list(node.kw_defaults), strict=True
        ):
            if argument.arg == _FLAG:
                node.kwonlyargs.remove(argument)
                node.kw_defaults.remove(default)
        return node
