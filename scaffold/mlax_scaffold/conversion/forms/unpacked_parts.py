"""Parts of one size that are bound to so many names: `q, k, v = x.split(size, dim=-1)`.

They fill the axis, so that their number is its size by that of a part; where nothing tells their number, the
last one may be smaller.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import walk


def with_unpacked_parts(origin: Origin) -> None:
    """Mark the sizes of those parts with their number, in place."""
    for node in walk(origin.tree):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                if any(isinstance(t, ast.Starred) for t in targets):
                    continue
                for part in walk(value):
                    for size in _sizes(part):
                        size.unpacked = len(targets)  # type: ignore[attr-defined]


def _sizes(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Attribute(attr="split"), args=args, keywords=given):
            return [*args, *(k.value for k in given)]
    return []
