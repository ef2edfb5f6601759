"""What arrays of indices choose along one axis of an array, of which all axes are known."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.values import Array, Several, Value


def chosen_rows(value: Array, node: ast.expr, index: Value) -> Array | None:
    """What `x[:, index]` is, and `x[jnp.arange(n), index]`; None where that is not told."""
    parts = node.elts if isinstance(node, ast.Tuple) else []
    items = index.items if isinstance(index, Several) else []
    places = [i for i, item in enumerate(items) if isinstance(item, Array)]
    if value.lead or not places or len(parts) > len(value.axes):
        return None
    at = places[-1]
    rows = items[at]
    if not isinstance(rows, Array):
        return None
    # Of each example that of its number.
    each = at == 1 and "arange(" in ast.unparse(parts[0])
    if each and rows.lead and not rows.axes:
        rows = Array(value.axes[:1], False, rows.kind)
    whole = (
        isinstance(p, ast.Slice) and p.lower is None and p.upper is None
        for i, p in enumerate(parts)
        if i != at and not (each and i == 0)
    )
    if rows.lead or not all(whole) or (not each and len(places) != 1):
        return None
    if each and len(rows.axes) != 1:
        return None
    before = [] if each else value.axes[:at]
    return Array([*before, *rows.axes, *value.axes[at + 1 :]], False, value.kind)
