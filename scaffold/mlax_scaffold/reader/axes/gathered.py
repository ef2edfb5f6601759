"""What rows that indices choose, `x[ids]`, say of these in an Einstein sum, and of what they meet."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.reader.axes.index_parts import is_new
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.operations import joined
from mlax_scaffold.reader.axes.ranks import Ranks, pairs
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.source import dotted


def tell(function: ast.FunctionDef, inputs: Mapping[str, Known], scope: Scope) -> None:
    """Note it of the inputs of a method or a function."""
    ranks = Ranks(function, scope, inputs=inputs)
    for term, operand in _terms(function):
        bound = ranks.bound.get(operand.id, ()) if isinstance(operand, ast.Name) else ()
        match [operand, *bound][-1]:
            case ast.Subscript(value=rows, slice=ast.Name(id=name)) if len(bound) < 2:
                known, rank = inputs.get(name), ranks.of(rows)
                if known and rank and known.exact is None and len(term) >= rank:
                    known.has(len(term) - rank + 1)
    for one, other in pairs(function):
        match one, other:
            case (
                ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=[_, new])),
                ast.Subscript(value=rows, slice=ast.Name()),
            ) if is_new(new):
                known, table = inputs.get(name), inputs.get(_table(rows, ranks))
                if known and table and known is not table:
                    known.ends_like = table


def _table(rows: ast.expr, ranks: Ranks) -> str:
    """The input that rows are of, or that they begin with: `jnp.concatenate([x, rest])`."""
    bound = ranks.bound.get(rows.id, ()) if isinstance(rows, ast.Name) else ()
    value = [rows, *bound][-1]
    parts, axis = joined(value) or ([value], 0)
    named = parts[0] if parts and axis == 0 else None
    return named.id if isinstance(named, ast.Name) else ""


def _terms(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The letters of each operand of Einstein sums, where they are all of its axes."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=called, args=[ast.Constant(value=str(text)), *operands]):
                if (dotted(called) or "").rpartition(".")[2] != "einsum" or "." in text:
                    continue
                terms = text.replace(" ", "").partition("->")[0].split(",")
                yield from zip(terms, operands, strict=False)
