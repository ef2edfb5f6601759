"""Sums at indices of an input, `y.at[receivers].add(messages)`: half precision loses what is small."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.reader.checks.exactness import exact_inputs, qualified
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source


def check_scatters(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `x.at[i].add(y)` where `i` is an input of integers."""
    integers = exact_inputs(method)
    for node in ast.walk(method):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(
                        value=ast.Attribute(value=base, attr="at"),
                        slice=ast.Name(id=index),
                    ),
                    attr="add",
                ),
                args=[value],
                keywords=[],
            ) if index in integers:
                source.report(
                    node,
                    f"`.at[{index}].add` adds one after the other, which loses what is small "
                    "in half precision",
                    "Use `segment_sum(data, segment_ids, num_segments)` of "
                    "mlax_scaffold.spec, which adds in pairs.",
                    fix=_segments(source, node, base, index, value, imports),
                )


def _segments(
    source: Source,
    node: ast.Call,
    base: ast.expr,
    index: str,
    value: ast.expr,
    imports: Mapping[str, Import],
) -> Fix | None:
    """The sum of segments; None where it is not clear how many there are, or of which dtype."""
    needed = word(source, "segment_sum")
    given = source.text_of(value)
    match base:
        case ast.Call(func=function, args=[shape, *rest], keywords=named):
            made = (qualified(function, imports) or "").rpartition(".")[2]
        case ast.Name(id=name):
            if isinstance(value, ast.Constant):
                return None
            text = f"{name} + {needed.bound}({given}, {index}, {name}.shape[0])"
            return Fix((source.edit(node, f"({text})"),), (needed,))
        case _:
            return None
    dtypes = [*rest, *(k.value for k in named if k.arg == "dtype")]
    match made, shape:
        case "zeros_like", _:
            count = f"{source.text_of(shape)}.shape[0]"
            dtype = f"{source.text_of(shape)}.dtype"
        case "zeros", ast.Tuple(elts=[first, *_]):
            count = source.text_of(first)
            dtype = source.text_of(dtypes[0]) if dtypes else ""
        case "zeros", ast.Name() | ast.Attribute() | ast.Subscript():
            count = source.text_of(shape)
            dtype = source.text_of(dtypes[0]) if dtypes else ""
            if count.endswith(".shape"):
                count = f"{count}[0]"
        case _:
            return None
    if isinstance(value, ast.Constant):
        roots = [n for n in imports if qualified(ast.Name(n), imports) == "jax.numpy"]
        root = roots[0] if roots else ""
        if not (dtype and root):
            return None
        given = f"{root}.full({index}.shape, {given}, {dtype})"
    text = f"{needed.bound}({given}, {index}, {count})"
    return Fix((source.edit(node, text),), (needed,))
