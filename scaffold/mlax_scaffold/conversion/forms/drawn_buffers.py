"""Buffers that a constructor fills with what it draws: they stay as they are registered, which is told.

`self.register_buffer("noise", torch.empty(n))` and `self.reset_noise()`, whose body is
`self.noise.copy_(torch.randn(n))`: what is drawn there is nothing that setup computes.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.array_leaves import draws
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.made_of import uncalled
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, names, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_FILLS = ("copy_", "normal_", "uniform_", "random_")


def without_drawn_buffers(origin: Origin, notes: Notes) -> None:
    """Leave such lines out of the classes of a file, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        start = methods.get("__init__")
        buffers = _registered(start) if start is not None else set()
        if start is None or not buffers:
            continue
        drawing = {t for t, m in methods.items() if _draws(origin, m, set(), set())}
        called = {
            self_attribute(part.value.func)
            for part in start.body
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call)
        }
        before = len(notes.found)
        for method in [start, *(m for t, m in methods.items() if t in called)]:
            _leave_out(origin, method, buffers, drawing, notes)
        if len(notes.found) > before:
            alone = uncalled(origin) & drawing
            node.body = [m for m in node.body if getattr(m, "name", "") not in alone]


def _registered(start: ast.FunctionDef) -> set[str]:
    return {
        str(literal(part.args[0]))
        for part in walk(start)
        if isinstance(part, ast.Call)
        and self_attribute(part.func) == "register_buffer"
        and part.args
    }


def _draws(origin: Origin, node: ast.AST, drawing: set[str], local: set[str]) -> bool:
    """Whether something is drawn in a tree, by a method that draws, or read from a local that holds it."""
    return bool(names(node) & local) or any(
        (isinstance(part, ast.expr) and draws(origin, part))
        or (isinstance(part, ast.Call) and self_attribute(part.func) in drawing)
        for part in walk(node)
    )


def _leave_out(
    origin: Origin,
    method: ast.FunctionDef,
    buffers: set[str],
    drawing: set[str],
    notes: Notes,
) -> None:
    local: set[str] = set()
    left: list[ast.stmt] = []
    for part in method.body:
        match part:
            case ast.Assign(targets=[ast.Name(id=title)], value=value) if _draws(
                origin, value, drawing, local
            ):
                local.add(title)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=owner, attr=attr), args=args)
            ) if attr in _FILLS and self_attribute(_whole(owner)) in buffers:
                given = (_draws(origin, a, drawing, local) for a in args)
                if attr != "copy_" or any(given):
                    left.append(part)
    if not left:
        return
    kept = [s for s in method.body if s not in left]
    read = {n for s in kept if not _binds(s, local) for n in names(s)}
    for part in left:
        notes.remark(
            part,
            f"`{ast.unparse(part)}` is left out: setup draws nothing, and it stays as it is registered",
            "draw with `self.key()` where a call reads it",
        )
    method.body = [s for s in kept if not _binds(s, local - read)] or [ast.Pass()]


def _whole(node: ast.expr) -> ast.expr:
    """`self.noise` of `self.noise.data`."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return node.value
    return node


def _binds(node: ast.stmt, titles: set[str]) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=title)]):
            return title in titles
    return False
