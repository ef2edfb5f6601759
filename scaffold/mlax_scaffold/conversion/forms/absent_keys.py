"""Keys that are None where a call has none, as keys alone: layers draw nothing then.

if key is None:
    first, second = None, None           becomes       first, second = jr.split(key)
else:
    first, second = jr.split(key)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, is_none, targets
from mlax_scaffold.conversion.source.vocabulary import KEYS
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_absent_keys_apart(origin: Origin) -> None:
    """Write them so, in place, in the calls of layers."""
    for node in origin.classes.values():
        if is_layer_class(origin, node):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    _Branches().visit(method)
    located(origin.tree)


class _Branches(NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        match node.test:
            case ast.Compare(
                left=ast.Name(id=key),
                ops=[ast.Is() | ast.IsNot() as op],
                comparators=[n],
            ) if is_none(n) and key in KEYS:
                absent, given = node.body, node.orelse
                if isinstance(op, ast.IsNot):
                    absent, given = given, absent
                if _binds(absent) == _binds(given) != set():
                    splits = all(_splits(part, key) for part in given)
                    if splits and all(map(_is_absent, absent)):
                        return given
        return node


def _binds(body: list[ast.stmt]) -> set[str]:
    return {t for part in body for t in targets(part)}


def _splits(node: ast.stmt, key: str) -> bool:
    """Whether a statement binds what a key is split into."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    func = node.value.func
    title = getattr(func, "attr", getattr(func, "id", ""))
    return title in ("split", "fold_in") and any(
        is_name(a, key) for a in node.value.args
    )


def _is_absent(node: ast.stmt) -> bool:
    """Whether a statement binds nothing but None, or a list of it."""
    if not isinstance(node, ast.Assign):
        return False
    numbers = (ast.Tuple, ast.List, ast.BinOp, ast.Mult, ast.Load, ast.Call)
    leaves = [p for p in walk(node.value) if not isinstance(p, numbers)]
    nones = [p for p in leaves if is_none(p)]
    listed = isinstance(node.value, ast.BinOp)
    return bool(nones) and (listed or len(nones) == len(leaves))
