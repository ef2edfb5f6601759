"""Names of parts of a container, `first, *rest = self.layers["b"]`, as the parts that loops go over."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source

_GOES_OVER = ("enumerate", "len", "list", "reversed", "tuple", "zip")


def as_parts(source: Source, node: ast.AST, method: ast.FunctionDef) -> Fix | None:
    """`first = self.layers["b"][0]`, and `for layer in self.layers["b"][1:]` in the place of `rest`.

    None where the name, or what the index is made of, is bound again, or something else than loops and
    comprehensions reads it.
    """
    # The text that is edited is another one than that which is read.
    source = Source(source.path, source.written)
    for function in walk(source.tree):
        if isinstance(function, ast.FunctionDef) and function.name == method.name:
            for statement in walk(function):
                if isinstance(statement, ast.Assign) and (
                    statement.lineno == getattr(node, "lineno", 0)
                ):
                    return _of(source, function, statement)
    return None


def _of(source: Source, function: ast.FunctionDef, statement: ast.Assign) -> Fix | None:
    match statement:
        case ast.Assign(
            targets=[ast.Tuple(elts=[*firsts, ast.Starred(value=ast.Name(id=rest))])],
            value=ast.Subscript() | ast.Attribute() as owner,
        ) if all(isinstance(f, ast.Name) for f in firsts):
            whole = source.text_of(owner)
            part = f"{whole}[{len(firsts)}:]"
        case ast.Assign(
            targets=[ast.Name(id=rest)], value=ast.Subscript(slice=ast.Slice()) as value
        ):
            firsts, whole, part = [], "", source.text_of(value)
        case _:
            return None
    names = [n for n in walk(function) if isinstance(n, ast.Name) and n.id == rest]
    reads = [n for n in names if isinstance(n.ctx, ast.Load)]
    if len(names) != len(reads) + 1 or not {*reads} <= {*_gone_over(function)}:
        return None
    read = {n.id for n in walk(statement.value) if isinstance(n, ast.Name)}
    stores = [n.id for n in walk(function) if _is_stored(n)]  # type: ignore[attr-defined]
    if any(stores.count(name) > 1 for name in read):
        return None
    lines = [f"{source.text_of(f)} = {whole}[{i}]" for i, f in enumerate(firsts)]
    margin = "\n" + " " * statement.col_offset
    edits: list[Edit] = [source.edit(n, part) for n in reads]
    if lines:
        edits.append(source.edit(statement, margin.join(lines)))
    else:
        start, end = (statement.lineno, 1), ((statement.end_lineno or 0) + 1, 1)
        edits.append(source.replace(start, end, ""))
    return Fix(tuple(edits), written=True)


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _gone_over(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What loops and comprehensions of a function go over, also in `enumerate`, `zip` and the like."""
    for node in walk(function):
        match node:
            case ast.For(iter=over) | ast.comprehension(iter=over):
                yield over
            case ast.Call(func=ast.Name(id=called), args=given) if called in _GOES_OVER:
                yield from given
