"""Sums of windows, as the words of specs have them."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, dotted


def as_pool(source: Source, node: ast.AST) -> Fix | None:
    """A sum of windows, `lax.reduce_window(x, 0.0, lax.add, ...)`, as a pool; None for anything else."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="reduce_window"),
            args=[x, ast.Constant(value=0), added, window, strides, padding],
            keywords=[],
        ) if (dotted(added) or "").endswith(".add"):
            given = _pooled(source, window, strides, padding)
        case _:
            return None
    needed = word(source, "sum_pool")
    text = f"{needed.bound}({source.text_of(x)}, {given})"
    return Fix((source.edit(node, text),), (needed,)) if given else None


def _pooled(
    source: Source, window: ast.expr, strides: ast.expr, padding: ast.expr
) -> str:
    """The arguments of `sum_pool` for windows that are written down; "" where they are not plain."""
    match window, strides, padding:
        case (
            ast.Tuple(elts=sizes),
            ast.Tuple(elts=steps),
            ast.Constant(value="VALID" | "SAME" as kind),
        ) if len(sizes) == len(steps):
            pass
        case _:
            return ""
    pairs = [*zip(sizes, steps, strict=True)]
    last = all(map(_is_one, pairs[-1]))
    inner = pairs[:-1] if last else pairs
    while inner and all(map(_is_one, inner[0])):
        inner = inner[1:]
    if not inner:
        return ""
    both = [f"({', '.join(source.text_of(p[i]) for p in inner)},)" for i in (0, 1)]
    both = [text.replace(",)", ")") if len(inner) > 1 else text for text in both]
    channels = ", channel_last=True" if last else ""
    return (
        f"spatial_dims={len(inner)}, window={both[0]}, strides={both[1]}, "
        f'padding="{kind}"{channels}'
    )


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1
