"""Moments that depend on the leaf, in branches or in an expression, as shapes that do."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_NOTHING = "(0,)"
"""The shape of what a leaf has none of."""


@dataclass
class _Moment:
    """What the branches declare under one name."""

    initializer: str
    """Nothing where it begins with an array, of which `shapes` holds the texts."""
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
        local: dict[str, str] = {}
        for part in held:
            if isinstance(part, ast.Pass):
                continue
            if (sizes := _sizes(part)) is not None:
                local |= sizes
            elif not _read(source, part, branch, found, local):
                return None
    test = source.text_of(statement.test)
    indent = "\n" + " " * statement.col_offset
    leaf = next((_leaf(n) for n in ast.walk(statement.test) if _leaf(n)), "param")
    lines = [
        f"self.{name} = moment({m.initializer}, {_chosen_text(test, m)}{m.dtype})"
        if m.initializer
        else f"self.{name} = moment({_chosen_text(test, m, f'jnp.zeros({_NOTHING}, {leaf}.dtype)')}{m.dtype})"
        for name, m in found.items()
    ]
    return Fix((source.edit(statement, indent.join(lines)),)) if lines else None


def _leaf(node: ast.AST) -> str:
    """The weight that `param.ndim` is of."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="ndim" | "shape" | "size"):
            return name
    return ""


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


def _sizes(part: ast.stmt) -> dict[str, str] | None:
    """What the locals of `n, m = param.shape`, or of `n = param.shape[0]`, are."""
    match part:
        case ast.Assign(
            targets=[ast.Tuple(elts=names)], value=ast.Attribute(attr="shape") as shape
        ):
            whole = ast.unparse(shape)
            values = [f"{whole}[{place}]" for place in range(len(names))]
        case ast.Assign(
            targets=[ast.Name() as name],
            value=ast.Subscript(value=ast.Attribute(attr="shape")) as size,
        ):
            names, values = [name], [ast.unparse(size)]
        case _:
            return None
    if not all(isinstance(name, ast.Name) for name in names):
        return None
    return dict(zip(map(ast.unparse, names), values, strict=True))


class _Written(ast.NodeTransformer):
    """Writes what locals are in their places."""

    def __init__(self, local: Mapping[str, str]) -> None:
        self.local = local

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.local:
            return node
        return ast.parse(self.local[node.id], mode="eval").body


def _text_of(source: Source, node: ast.expr, local: Mapping[str, str]) -> str:
    """The text of a shape or an initializer, without what its branch calls its sizes."""
    text = source.text_of(node)
    if not any(isinstance(n, ast.Name) and n.id in local for n in ast.walk(node)):
        return text
    return ast.unparse(_Written(local).visit(ast.parse(text, mode="eval")))


def _read(
    source: Source,
    part: ast.stmt,
    branch: bool,
    found: dict[str, _Moment],
    local: Mapping[str, str],
) -> bool:
    """Note what a statement declares; False where it is no plain moment."""
    match part:
        case ast.Assign(
            targets=[target],
            value=ast.Call(func=made, args=[init, *rest], keywords=[]),
        ) if dotted(made) == "moment" and len(rest) < 3:
            name = self_attribute(target)
        case _:
            return False
    if _is_array(init):
        given, shape, rest = "", init, rest[1:]
    elif rest:
        given, (shape, *rest) = _text_of(source, init, local), rest
    else:
        return False
    dtype = "".join(f", {source.text_of(d)}" for d in rest)
    if name is None:
        return False
    own = found.setdefault(name, _Moment(given, dtype, {}))
    if (own.initializer, own.dtype) != (given, dtype) or branch in own.shapes:
        return False
    own.shapes[branch] = _text_of(source, shape, local)
    return True


def _is_array(node: ast.expr) -> bool:
    """Whether an expression makes an array that a moment begins with."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_array(left) or _is_array(right)
        case ast.Call(func=made):
            return (dotted(made) or "").startswith("jnp.")
    return False


def _chosen_text(test: str, moment: _Moment, nothing: str = _NOTHING) -> str:
    yes, no = (moment.shapes.get(branch, nothing) for branch in (True, False))
    return yes if yes == no else f"{yes} if {test} else {no}"
