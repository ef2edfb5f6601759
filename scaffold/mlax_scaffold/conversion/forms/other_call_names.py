"""Layers that other layers call by a method of another name, `layer.inverse(y)`: that method is their call.

class Shift(Bijection):                       class Shift(Bijection):
    def inverse(self, y): ...      becomes        def __call__(self, y): ...
y = layer.inverse(y)                          y = layer(y)
"""

from __future__ import annotations

import ast

import numpy as np

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_CALLS = ("__call__", "forward", "call", "apply")


def without_other_call_names(origin: Origin, thing: str) -> None:
    """Name such methods so, in place, where all that have no call are called by one name alone."""
    layers = [c for c in origin.classes.values() if framework_of(origin, c) != "plain"]
    mute = [c for c in layers if c.name != thing and not _calls(origin, c)]
    if not mute or thing not in origin.classes:
        return
    others = [c for c in origin.tree.body if c not in mute]
    defined = {m.name for c in mute for m in _methods(c)}
    told = {
        part.attr
        for node in others
        for part in walk(node)
        if isinstance(part, ast.Attribute)
        and not is_name(part.value, "self")
        and part.attr in defined
    }
    if len(told) != 1:
        return
    [title] = told
    elsewhere = {
        m.name for c in origin.classes.values() if c not in mute for m in _methods(c)
    }
    of_self = any(
        isinstance(p, ast.Attribute) and p.attr == title and is_name(p.value, "self")
        for p in walk(origin.tree)
    )
    if title in elsewhere or of_self or hasattr(np.ndarray, title):
        return
    for node in mute:
        call = "forward" if framework_of(origin, node) == "torch" else "__call__"
        for method in _methods(node):
            if method.name == title:
                method.name = call
    _Calls(title).visit(origin.tree)
    located(origin.tree)


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [m for m in node.body if isinstance(m, ast.FunctionDef)]


def _calls(origin: Origin, node: ast.ClassDef) -> bool:
    """Whether a class has a call, itself or by a base, of the file or of a library's layer."""
    if any(m.name in _CALLS for m in _methods(node)):
        return True
    for base in node.bases:
        other = origin.classes.get(getattr(base, "id", ""))
        if other is not None and other is not node:
            if _calls(origin, other):
                return True
        elif ast.unparse(base).rpartition(".")[2] not in ("Module", "object"):
            return True
    return False


class _Calls(NodeTransformer):
    def __init__(self, title: str):
        self.title = title

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == self.title:
            node.func = node.func.value
        return node
