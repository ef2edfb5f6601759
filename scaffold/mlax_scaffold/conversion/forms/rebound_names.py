"""Names that a constructor binds anew after a layer of a list was made with them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import names, targets, with_names
from mlax_scaffold.conversion.source.walking import cloned, located, walk

BEFORE = "_before"
"""What names of values end with that are kept."""


def without_rebound_names(node: ast.ClassDef) -> None:
    """Give what such a layer is made with a name of its own, in place.

    A list is declared where it was last appended to, and there the name stands for another value.
    """
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("__init__", "setup"):
            method.body = _kept(method.body)
            located(method)


def _kept(body: list[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    filled = {place for part in body if (place := _filled(part))}
    for at, part in enumerate(body):
        place = _place(part)
        if place not in filled:
            made.append(part)
            continue
        ends = [i for i, p in enumerate(body) if _fills(p, place)]
        later = {
            t for p in body[at + 1 : ends[-1] + 1] for t in targets(p) if t != place
        }
        read = sorted(names(part) & later - {place})
        if not read:
            made.append(part)
            continue
        for name in read:
            target = ast.Name(_before(name), ast.Store())
            value = ast.Name(name, ast.Load())
            made.append(ast.copy_location(ast.Assign([target], value), part))
        parts: dict[str, ast.expr] = {n: ast.Name(_before(n), ast.Load()) for n in read}
        made.append(with_names(cloned(part), parts))
    return made


def _before(name: str) -> str:
    return f"{name}{BEFORE}"


def _filled(node: ast.stmt) -> str:
    """The list that a statement begins."""
    match node:
        case ast.Assign(targets=[ast.Name(id=place)], value=ast.List()):
            return place
    return ""


def _place(node: ast.stmt) -> str:
    """The list that a statement begins, or makes longer."""
    match node:
        case (
            ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Name(id=place), attr="append" | "extend"
                    )
                )
            )
            | ast.AugAssign(target=ast.Name(id=place), value=ast.List())
        ):
            return place
    return _filled(node)


def _fills(node: ast.stmt, place: str) -> bool:
    return any(isinstance(p, ast.stmt) and _place(p) == place for p in walk(node))
