"""Rows that a mixture of experts sends to some layers, as all rows with weights that are zero elsewhere.

rows, slot = torch.where(chosen == i)                          own = (weights * (chosen == i)).sum(-1)
out[rows] += weights[rows, slot, None] * expert(x[rows])       out = out + own[..., None] * expert(x)

Arrays of jax have sizes that no number in them decides. The sum is the same, since a row that is not sent has
the weight zero; each layer is run for all rows.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, is_name, is_none, names
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_dispatched_rows(origin: Origin, notes: Notes) -> None:
    """Write such loops so, in place."""
    if not origin.uses("torch"):
        return
    for node in walk(origin.tree):
        if isinstance(node, ast.For):
            made = _body(origin, node.body)
            if made is not None:
                notes.remark(
                    node,
                    "the rows that each layer of this loop is given are all rows",
                    "those that are not sent to it have the weight zero: it costs as much as all layers",
                )
                node.body = made
                located(node)


def _body(origin: Origin, body: list[ast.stmt]) -> list[ast.stmt] | None:
    for at, part in enumerate(body):
        found = _sent(origin, part)
        if found is None:
            continue
        first, second, mask = found
        for rows, slots, flipped in ((first, second, False), (second, first, True)):
            chosen = expression("m.transpose(0, 1)", m=mask) if flipped else mask
            rewrite = _Rows(rows, slots, chosen)
            made = rewrite.block(cloned(body[at + 1 :]))
            left = {rows, slots} & {n for s in made or () for n in names(s)}
            if made and rewrite.summed and not left:
                return [*body[:at], *made]
    return None


def _sent(origin: Origin, node: ast.stmt) -> tuple[str, str, ast.expr] | None:
    """The names for rows and slots, and the mask of what is sent."""
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)])],
            value=ast.Call(func=func, args=args) as call,
        ):
            full = origin.qualified(func)
            if full in ("torch.where", "torch.nonzero") and len(args) == 1:
                return first, second, args[0]
            if isinstance(func, ast.Attribute) and func.attr == "nonzero" and not full:
                told = any(k.arg == "as_tuple" for k in call.keywords)
                return (first, second, func.value) if told else None
    return None


class _Rows(NodeTransformer):
    """Writes what is computed with the rows that are sent for all rows."""

    def __init__(self, rows: str, slots: str, chosen: ast.expr):
        self.rows, self.slots, self.chosen = rows, slots, chosen
        self.weighed: set[str] = set()
        """Locals that are zero for rows that are not sent."""
        self.summed = False

    def block(self, body: list[ast.stmt]) -> list[ast.stmt] | None:
        """The statements for all rows; None where that is not the same."""
        made: list[ast.stmt] = []
        for part in body:
            if self._is_skipped(part):
                continue
            added = self._added(part)
            if added is not None:
                out, value = added
                if not self._is_weighed(value):
                    return None
                self.summed = True
                plain = self.visit(cloned(value))
                total = expression("out + v", out=out, v=plain)
                store = cloned(out)
                store.ctx = ast.Store()  # type: ignore[attr-defined]
                made.append(ast.copy_location(ast.Assign([store], total), part))
                continue
            match part:
                case ast.Assign(targets=[ast.Name(id=title)], value=value):
                    if self._is_weighed(value):
                        self.weighed.add(title)
            made.append(self.visit(part))
        return made

    def _is_skipped(self, node: ast.stmt) -> bool:
        """Whether a statement goes on where no row is sent."""
        match node:
            case ast.If(test=test, body=[ast.Continue()], orelse=[]):
                return bool({self.rows, self.slots} & set(names(test)))
        return False

    def _added(self, node: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
        """What is added to the rows of an array: the array, and what is added."""
        match node:
            case ast.AugAssign(
                target=ast.Subscript(value=ast.Name() as out, slice=index),
                op=ast.Add(),
                value=value,
            ) if is_name(index, self.rows):
                return ast.Name(out.id, ast.Load()), value
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name() as out, attr="index_add_"),
                    args=[ast.Constant(value=0), index, value],
                )
            ) if is_name(index, self.rows):
                return ast.Name(out.id, ast.Load()), value
            case ast.Assign(
                targets=[ast.Name(id=title)],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name() as out, attr="index_add"),
                    args=[ast.Constant(value=0), index, value],
                ),
            ) if is_name(index, self.rows) and out.id == title:
                return ast.Name(out.id, ast.Load()), value
        return None

    def _is_weighed(self, node: ast.expr) -> bool:
        """Whether an expression is a product with the weights of the slots."""
        match node:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._is_weighed(left) or self._is_weighed(right)
            case ast.Name(id=title):
                return title in self.weighed
            case ast.Subscript(value=value, slice=index):
                return self._weights(index) is not None or (
                    not isinstance(index, ast.Name) and self._is_weighed(value)
                )
            case ast.Call(func=ast.Attribute(value=value, attr=attr)):
                plain = ("to", "type_as", "float", "unsqueeze", "view", "reshape")
                return attr in plain and self._is_weighed(value)
        return False

    def _weights(self, index: ast.expr) -> list[ast.expr] | None:
        """The axes behind rows and slots, where an index is of both."""
        match index:
            case ast.Tuple(elts=[first, second, *rest]):
                both = is_name(first, self.rows) and is_name(second, self.slots)
                return rest if both and all(map(is_none, rest)) else None
        return None

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        rest = self._weights(node.slice)
        if rest is not None:
            own = expression("(w * m).sum(-1)", w=node.value, m=self.chosen)
            for _ in rest:
                own = expression("w.unsqueeze(-1)", w=own)
            return ast.copy_location(own, node)
        self.generic_visit(node)
        if is_name(node.slice, self.rows):
            return node.value
        match node.slice:
            case ast.Tuple(elts=[first, second]) if is_name(second, self.rows):
                if is_none(first):
                    return expression("x[None]", x=node.value)
            case ast.Tuple(elts=[first, ast.Slice(lower=None, upper=None, step=None)]):
                if is_name(first, self.rows):
                    return node.value
        return node
