"""Moments that depend on the leaf, in branches or in an expression, as shapes that do."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_NOTHING = "(0,)"
"""The shape of what a leaf has none of."""


@dataclass
class _Moment:
    """What the branches declare under one name."""

    initializer: str
    dtype: str
    shapes: dict[bool, str]


def by_leaf(source: Source, statement: ast.stmt) -> Fix | None:
    """The declarations of both branches, each with a shape that the condition chooses.

    None where a branch holds anything else, or one name is declared with two initializers.
    """
    if not isinstance(statement, ast.If):
        return None
    found: dict[str, _Moment] = {}
    for branch, held in ((True, statement.body), (False, statement.orelse)):
        for part in held:
            if isinstance(part, ast.Pass):
                continue
            if not _read(source, part, branch, found):
                return None
    test = source.text_of(statement.test)
    indent = "\n" + " " * statement.col_offset
    lines = [
        f"self.{name} = moment({m.initializer}, {_shape(test, m)}{m.dtype})"
        for name, m in found.items()
    ]
    return Fix((source.edit(statement, indent.join(lines)),)) if lines else None


def chosen_by_leaf(source: Source, made: ast.Call) -> Fix | None:
    """`moment(zeros, shape) if param.ndim == 2 else None` with a shape that the condition chooses.

    None where a method asks whether the moment is None.
    """
    match _chosen(source.tree, made):
        case ast.Assign(targets=[target], value=ast.IfExp() as value):
            name = self_attribute(target)
        case _:
            return None
    asked = any(
        self_attribute(node.left) == name
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Compare)
    )
    if asked or len(made.args) < 2 or made.keywords:
        return None
    shape = made.args[1]
    if isinstance(shape, ast.IfExp):
        return None
    parts = [source.text_of(shape), _NOTHING]
    yes, no = parts if value.body is made else reversed(parts)
    edits = [source.edit(shape, f"{yes} if {source.text_of(value.test)} else {no}")]
    for start, end in (
        (source.start(value), source.start(made)),
        (source.end(made), source.end(value)),
    ):
        edits += [source.replace(start, end, "")] * (start != end)
    return Fix(tuple(edits))


def _chosen(tree: ast.AST, made: ast.Call) -> ast.stmt | None:
    """The statement that assigns a call or None."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(value=ast.IfExp(body=body, orelse=other)):
                left = other if body is made else body
                nothing = isinstance(left, ast.Constant) and left.value is None
                if made in (body, other) and nothing:
                    return node
    return None


def _read(
    source: Source, part: ast.stmt, branch: bool, found: dict[str, _Moment]
) -> bool:
    """Note what a statement declares; False where it is no plain moment."""
    match part:
        case ast.Assign(
            targets=[target],
            value=ast.Call(func=made, args=[init, shape, *rest], keywords=[]),
        ) if dotted(made) == "moment" and len(rest) < 2:
            name = self_attribute(target)
        case _:
            return False
    dtype = "".join(f", {source.text_of(d)}" for d in rest)
    given = source.text_of(init)
    if name is None:
        return False
    own = found.setdefault(name, _Moment(given, dtype, {}))
    if (own.initializer, own.dtype) != (given, dtype) or branch in own.shapes:
        return False
    own.shapes[branch] = source.text_of(shape)
    return True


def _shape(test: str, moment: _Moment) -> str:
    yes, no = (moment.shapes.get(branch, _NOTHING) for branch in (True, False))
    return yes if yes == no else f"{yes} if {test} else {no}"
