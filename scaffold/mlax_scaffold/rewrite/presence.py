"""Finds tests of optional arrays, as in `if self.bias is not None`."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.nodes import self_attribute


def compared_with_none(node: cst.Comparison) -> str | None:
    """`name` for `self.name is None` and `self.name is not None`."""
    match node:
        case cst.Comparison(
            left=left,
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.Is() | cst.IsNot(), comparator=cst.Name("None")
                )
            ],
        ):
            return self_attribute(left)
    return None
