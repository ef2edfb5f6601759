"""`functools.reduce` over layers, as the loop that it is."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, dotted


def looped(source: Source, layers: ast.AST) -> Fix | None:
    """The statement `y = functools.reduce(lambda h, layer: layer(h), layers, x)`, or its return, as a loop.

    None where it is no statement of its own, or where the names of its lambda are others' there.
    """
    place = source.start(layers), source.end(layers)
    for method in walk(source.tree):
        if not isinstance(method, ast.FunctionDef):
            continue
        for statement in method.body:
            match statement:
                case ast.Return(value=call):
                    target = ""
                case ast.Assign(targets=[ast.Name(id=target)], value=call):
                    pass
                case _:
                    continue
            match call:
                case ast.Call(
                    func=function,
                    args=[ast.Lambda(args=taken, body=made), items, first],
                    keywords=[],
                ) if (dotted(function) or "").rpartition(".")[2] == "reduce":
                    pass
                case _:
                    continue
            names = [a.arg for a in taken.args]
            if (source.start(items), source.end(items)) != place or len(names) != 2:
                continue
            others = [n for n in walk(method) if n not in {*walk(call.args[0])}]
            read = {n.id for n in others if isinstance(n, ast.Name)}
            read |= {n.arg for n in others if isinstance(n, ast.arg)}
            if read & {*names} or target in names:
                return None
            carried, item = names
            lines = [
                f"{carried} = {source.text_of(first)}",
                f"for {item} in {source.text_of(items)}:",
                f"    {carried} = {source.text_of(made)}",
                f"{target} = {carried}" if target else f"return {carried}",
            ]
            break_ = "\n" + " " * statement.col_offset
            return Fix((source.edit(statement, break_.join(lines)),))
    return None
