"""Several names at once, and one of several, in statements of their own."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bindings import stored_in
from mlax_scaffold.reader.source import Source


def one_by_one(
    source: Source, node: ast.expr, parents: Mapping[ast.AST, ast.AST]
) -> Fix | None:
    """`f, g = self.layer, self.own` as a statement for each; None where one changes what another reads."""
    statement = parents.get(parents.get(node, node), node)
    match statement:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)
        ) if len(targets) == len(values):
            pass
        case _:
            return None
    stored = stored_in([statement])
    read = {n.id for v in values for n in walk(v) if isinstance(n, ast.Name)}
    plain = all(isinstance(t, ast.Name) for t in targets)
    if node not in values or not plain or stored & read:
        return None
    pairs = zip(targets, values, strict=True)
    lines = [f"{source.text_of(t)} = {source.text_of(v)}" for t, v in pairs]
    margin = "\n" + " " * statement.col_offset
    return Fix((source.edit(statement, margin.join(lines)),))


def one_of_several(
    source: Source, node: ast.expr, parents: Mapping[ast.AST, ast.AST]
) -> Fix | None:
    """`self.several[0](grads, params)` of optimizers as a comprehension over that one."""
    item = parents.get(node)
    call = parents.get(item) if item else None
    match item, call:
        case ast.Subscript(slice=index), ast.Call(func=called) if called is item:
            part = _part(source, index)
        case _:
            return None
    names = {n.id for n in walk(source.tree) if isinstance(n, ast.Name)}
    variable = next(n for n in ("transformation", "optimizer", "one") if n not in names)
    given = source.between(source.end(item), source.end(call))
    several = f"{source.text_of(node)}[{part}]"
    text = f"[{variable}{given} for {variable} in {several}][0]"
    return Fix((source.edit(call, text),))


def _part(source: Source, index: ast.expr) -> str:
    """The text of a slice that holds one item."""
    match index:
        case ast.Constant(value=0):
            return ":1"
        case ast.Constant(value=int(number)):
            return f"{number}:{number + 1}"
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return f"{-number}:{1 - number if number > 1 else ''}"
    text = source.text_of(index)
    return f"{text} : {text} + 1"
