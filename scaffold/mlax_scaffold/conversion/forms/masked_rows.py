"""Rows that a mask sends to one of several layers, as all rows of which those of the mask are taken.

if mask.any():                                      new = weights[:, i] * expert(x)
    out[mask] += weights[mask, i] * expert(x[mask])     out = torch.where(mask.unsqueeze(-1), out + new, out)

A mask may have a flat form, `flat = mask.view(-1)`, for flat rows. Each layer is run for all rows.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, literal, names
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_FLAT = ("view", "reshape", "flatten")
_OF_ROWS = ("view", "reshape", "unsqueeze", "squeeze", "to", "type_as", "float")
"""Methods of arrays that leave rows what they are."""


def without_masked_rows(origin: Origin, notes: Notes) -> None:
    """Write such branches of loops so, in place."""
    torch = origin.name_of("torch")
    if not torch:
        return
    for node in walk(origin.tree):
        if not isinstance(node, ast.For):
            continue
        for at, part in enumerate(node.body):
            made = _rows(torch, node.body[:at], part)
            if made is None:
                continue
            notes.remark(
                node,
                "the rows that each layer of this loop is given are all rows",
                "those that are not sent to it are left out of the sum: it costs as much as all layers",
            )
            node.body[at : at + 1] = made
            located(node)
            break


def _rows(torch: str, before: list[ast.stmt], node: ast.stmt) -> list[ast.stmt] | None:
    match node:
        case ast.If(
            test=ast.Call(
                func=ast.Attribute(value=ast.Name(id=mask), attr="any"), args=[]
            ),
            orelse=[],
        ):
            pass
        case _:
            return None
    masks = {mask}
    for part in before:
        match part:
            case ast.Assign(
                targets=[ast.Name(id=flat)],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=whole), attr=attr), args=args
                ),
            ) if attr in _FLAT and [literal(a) for a in args] in ([], [-1]):
                if {flat, whole} & masks:
                    masks |= {flat, whole}
    rewrite = _Rows(torch, masks)
    made = [rewrite.statement(cloned(s)) for s in node.body]
    kept = [s for s in made if s is not None]
    whole = len(kept) == len(node.body) and rewrite.summed
    return kept if whole and all(map(_is_of_rows, node.body)) else None


def _is_of_rows(node: ast.stmt) -> bool:
    """Whether each row of what a statement computes is of one row."""
    return all(
        part.func.attr in _OF_ROWS
        for part in walk(node)
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and names(part.func) != {"self"}
    )


class _Rows(NodeTransformer):
    def __init__(self, torch: str, masks: Collection[str]):
        self.torch, self.masks = torch, masks
        self.summed = False

    def statement(self, node: ast.stmt) -> ast.stmt | None:
        """The statement for all rows; None where that is not to be told."""
        match node:
            case ast.AugAssign(
                target=ast.Subscript(value=ast.Name(id=out), slice=ast.Name(id=mask)),
                op=ast.Add(),
                value=value,
            ) if mask in self.masks:
                text = "torch.where(m.unsqueeze(-1), out + v.reshape(out.shape), out)"
                return self._chosen(node, text, out, mask, value)
            case ast.Assign(
                targets=[
                    ast.Subscript(value=ast.Name(id=out), slice=ast.Name(id=mask))
                ],
                value=value,
            ) if mask in self.masks:
                text = "torch.where(m.unsqueeze(-1), v.reshape(out.shape), out)"
                return self._chosen(node, text, out, mask, value)
            case ast.Assign(targets=[ast.Name()]):
                made = self.visit(node)
                return made if not names(made) & {*self.masks} else None
        return None

    def _chosen(
        self, node: ast.stmt, text: str, out: str, mask: str, value: ast.expr
    ) -> ast.stmt | None:
        match value:
            case ast.Call(func=ast.Attribute(value=inner, attr="squeeze")):
                # It has the shape of what it is added to.
                value = inner
        made = self.visit(value)
        if names(made) & {*self.masks}:
            return None
        self.summed = True
        parts = {"v": made, "m": ast.Name(mask, ast.Load())}
        parts |= {"out": ast.Name(out, ast.Load())}
        chosen = expression(text, torch=ast.Name(self.torch, ast.Load()), **parts)
        stored = ast.Assign([ast.Name(out, ast.Store())], chosen)
        return ast.copy_location(stored, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        match node.slice:
            case ast.Name(id=mask) if mask in self.masks:
                return node.value
            case ast.Tuple(elts=[ast.Name(id=mask), *rest]) if mask in self.masks:
                node.slice = ast.Tuple([ast.Slice(), *rest], ast.Load())
        return node
