"""Sizes that setup requires to be multiples of others."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from mlax_scaffold.conversion.source.trees import literal, self_attribute


def multiples(
    values: Mapping[str, object], setup: Iterable[ast.stmt], given: Mapping[str, object]
) -> dict[str, object]:
    """Sizes that setup requires to be multiples of a number: `require(self.height % 16 == 0, ...)`."""
    found: dict[str, object] = {}
    for statement in setup:
        match statement:
            case ast.Expr(
                value=ast.Call(
                    args=[
                        ast.Compare(
                            left=ast.BinOp(left=size, op=ast.Mod(), right=by),
                            ops=[ast.Eq()],
                            comparators=[ast.Constant(value=0)],
                        ),
                        *_,
                    ]
                )
            ):
                title, number = self_attribute(size) or "", literal(by)
                value = values.get(title)
                if title in given or type(value) is not int or type(number) is not int:
                    continue
                if number > 0 and value % number:
                    found[title] = -(-value // number) * number
    return found
