"""Branches that fill by a mask where that has any truth: the filling alone, which changes nothing elsewhere.

if mask is not None and mask.any():           becomes   if mask is not None:
    scores = scores.masked_fill(mask, low)                  scores = scores.masked_fill(mask, low)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, names
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_FILLS = ("masked_fill", "masked_fill_")
_CASTS = ("float", "type_as", "to", "double", "half")
_MOVES = (
    *("unsqueeze", "squeeze", "expand", "expand_as", "repeat", "view", "reshape"),
    *("transpose", "permute", "bool", "to", "astype"),
)
"""What changes no element of a mask."""
_RANKS = ("dim", "ndim", "ndimension")


def without_any_masks(origin: Origin) -> None:
    """Write them so, in place, in methods of layers."""
    for node in origin.classes.values():
        if is_layer_class(origin, node):
            _Branches().visit(node)
    located(origin.tree)


class _Branches(NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        test = node.test
        both = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
        parts = test.values if isinstance(test, ast.BoolOp) and both else [test]
        masks = {m for p in parts if (m := _any_of(p))}
        if len(masks) != 1 or node.orelse:
            return node
        [mask] = masks
        if not all(_fills(part, mask) for part in node.body):
            return node
        rest = [p for p in parts if not _any_of(p)]
        if not rest:
            return node.body
        node.test = rest[0] if len(rest) == 1 else ast.BoolOp(ast.And(), rest)
        return node


def _any_of(node: ast.expr) -> str:
    """The name of what is asked whether it has any truth; "" for another question."""
    match node:
        case ast.Call(func=ast.Attribute(value=held, attr="item"), args=[]):
            return _any_of(held)
        case ast.Call(func=ast.Name(id="bool"), args=[held]):
            return _any_of(held)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=mask), attr="any"), args=[]):
            return mask
        case ast.Call(func=ast.Attribute(attr="any"), args=[ast.Name(id=mask)]):
            return mask
    return ""


def _fills(node: ast.stmt, mask: str) -> bool:
    """Whether a statement fills what it sets, where the mask is true, and does nothing else."""
    match node:
        case ast.If(test=test, body=body, orelse=other):
            ranks = [getattr(p, "attr", "") for p in walk(test)]
            asks = any(r in _RANKS for r in ranks) and names(test) == {mask}
            return asks and all(_fills(part, mask) for part in (*body, *other))
        case ast.Assign(targets=[ast.Name(id=filled)], value=value):
            return _is_filled(value, filled, mask)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="masked_fill_")) as value):
            held = value.func.value  # type: ignore[attr-defined]
            return isinstance(held, ast.Name) and _is_filled(value, held.id, mask)
    return False


def _is_filled(node: ast.expr, filled: str, mask: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=held, attr=title), args=args):
            if title in _CASTS:
                return _is_filled(held, filled, mask)
            if title in _FILLS and args:
                return _plain(held) == filled and _is_of(args[0], mask)
            if title == "where" and len(args) == 3:
                return is_name(args[2], filled) and _is_of(args[0], mask)
    return False


def _plain(node: ast.expr) -> str:
    """An array without casts."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _CASTS
    ):
        node = node.func.value
    return ast.unparse(node)


def _is_of(node: ast.expr, mask: str) -> bool:
    """Whether what fills is the mask, of other axes perhaps, and true nowhere else."""
    changed = (ast.UnaryOp, ast.Compare, ast.BinOp, ast.BoolOp, ast.IfExp)
    inner = [p for p in walk(node) if isinstance(p, changed)]
    negative = [p for p in inner if isinstance(p, ast.UnaryOp)]
    numbers = [p for p in negative if isinstance(p.operand, ast.Constant)]
    whole = node
    while isinstance(whole, ast.Subscript | ast.Call | ast.Attribute):
        if isinstance(whole, ast.Attribute) and whole.attr not in _MOVES:
            return False
        whole = whole.func if isinstance(whole, ast.Call) else whole.value
    return is_name(whole, mask) and len(inner) == len(numbers)
