"""Weights and states that `setup` of linen keeps under other names than checkpoints have: they have those.

self.average = self.variable("stats", "mean", jnp.zeros, (8,))
becomes
self.mean = self.variable("stats", "mean", jnp.zeros, (8,))
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.vocabulary import TAKEN
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_PLACES = {"param": 0, "variable": 1}
"""Where the name of a weight stands in a call that makes it."""


def with_checkpoint_names(origin: Origin) -> None:
    """Rename them, in place, where nothing else of the class has that name."""
    for node in origin.classes.values():
        setup = method_of(node, "setup")
        if setup is None or framework_of(origin, node) != "flax":
            continue
        read = {self_attribute(part) for part in walk(node)}
        own = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
        own |= {getattr(m.target, "id", "") for m in node.body if isinstance(m, ast.AnnAssign)}  # fmt: skip
        titles = [t for part in setup.body if (t := _titles(part)) is not None]
        named = [new for _, new in titles]
        renamed = {
            old: new
            for old, new in titles
            if new not in {*read, *own, *TAKEN} and named.count(new) == 1
        }
        if renamed:
            _Renamed(renamed).visit(node)


def _titles(node: ast.stmt) -> tuple[str, str] | None:
    """The attribute that a statement keeps a weight under, and the name that it has in a checkpoint."""
    match node:
        case ast.Assign(targets=[target], value=ast.Call(func=func, args=args)):
            at = _PLACES.get(self_attribute(func) or "")
            old = self_attribute(target)
            new = literal(args[at]) if at is not None and at < len(args) else None
            if old and isinstance(new, str) and new.isidentifier():
                return old, new
    return None


class _Renamed(NodeTransformer):
    def __init__(self, titles: dict[str, str]):
        self.titles = titles

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        if (old := self_attribute(node)) in self.titles:
            node.attr = self.titles[old]
        return node
