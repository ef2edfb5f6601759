"""Layers of a list that are told the mode where they are of a kind that takes it, as layers that are called.

x = layer(x, deterministic=not train) if isinstance(layer, nn.Dropout) else layer(x)
becomes
x = layer(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, same
from mlax_scaffold.conversion.source.vocabulary import INFERENCE, TRAINING
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned


def without_mode_branches(origin: Origin) -> None:
    """Write them so, in place."""
    for node in origin.classes.values():
        _Branches().visit(node)


class _Branches(NodeTransformer):
    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        layer = _asked(node.test)
        if layer is None:
            return node
        return _common(layer, node.body, node.orelse) or node

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        layer = _asked(node.test)
        match node.body, node.orelse:
            case [ast.Assign() as one], [ast.Assign() as other] if layer is not None:
                alike = [ast.unparse(t) for t in one.targets] == [
                    ast.unparse(t) for t in other.targets
                ]
                made = _common(layer, one.value, other.value) if alike else None
                if made is not None:
                    return ast.copy_location(ast.Assign(one.targets, made), node)
        return node


def _asked(test: ast.expr) -> str | None:
    """The layer whose class a condition asks for."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    match test:
        case ast.Call(func=func, args=[ast.Name(id=layer), _]) if is_name(
            func, "isinstance"
        ):
            return layer
    return None


def _common(layer: str, one: ast.expr, other: ast.expr) -> ast.expr | None:
    """The call that both are, but for what tells the mode."""
    plain = [_plain(layer, side) for side in (one, other)]
    first, second = plain
    if first is None or second is None or not same(first, second):
        return None
    return ast.copy_location(first, one)


def _plain(layer: str, node: ast.expr) -> ast.Call | None:
    if not isinstance(node, ast.Call) or not is_name(node.func, layer):
        return None
    made = cloned(node)
    made.keywords = [k for k in made.keywords if k.arg not in {*TRAINING, *INFERENCE}]
    return made
