"""Settings of settings, `config["encoder"]["width"]` and `cfg.ENCODER.WIDTH`, as settings of their own.

They are attributes whose names have dots, `encoder.width`, which is what the original is given.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from mlax_scaffold.conversion.source.walking import NodeTransformer, walk


def with_nested_settings(node: ast.AST, whole: Callable[[ast.expr], bool]) -> None:
    """Write them so, in place, where a class does nothing else with what holds them.

    Args:
        node: the class, whose configuration is asked by attributes.
        whole: whether an expression is the configuration.
    """
    while _joined(node, whole):
        pass


def _joined(node: ast.AST, whole: Callable[[ast.expr], bool]) -> bool:
    """Whether a level of settings was joined with the next one."""
    called = {id(p.func) for p in walk(node) if isinstance(p, ast.Call)}
    reads: dict[str, int] = {}
    inner: dict[str, int] = {}
    for part in walk(node):
        if not isinstance(part, ast.Attribute):
            continue
        if whole(part.value):
            reads[part.attr] = reads.get(part.attr, 0) + 1
        held = part.value
        plain = isinstance(part.ctx, ast.Load) and id(part) not in called
        if isinstance(held, ast.Attribute) and whole(held.value) and plain:
            inner[held.attr] = inner.get(held.attr, 0) + 1
    holders = {held for held, count in inner.items() if reads[held] == count}
    if holders:
        _Joined(whole, holders).visit(node)
    return bool(holders)


class _Joined(NodeTransformer):
    def __init__(self, whole: Callable[[ast.expr], bool], holders: set[str]):
        self.whole, self.holders = whole, holders

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        held = node.value
        if isinstance(held, ast.Attribute) and self.whole(held.value):
            if held.attr in self.holders:
                node.attr, node.value = f"{held.attr}.{node.attr}", held.value
            return node
        self.generic_visit(node)
        return node


def parameter_name(setting: str, others: Collection[str]) -> str:
    """What a setting is called by itself: with what holds it where another one has its name."""
    _, _, last = setting.rpartition(".")
    same = [o for o in others if o.rpartition(".")[2].lower() == last.lower()]
    made = last if len(same) < 2 else setting.replace(".", "_")
    return made.lower() if made.isupper() and "." in setting else made
