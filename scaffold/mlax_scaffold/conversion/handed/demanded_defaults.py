"""Parameters of PyTorch's classes that have to be what they are by default, as others are refused: left out.

`if groups != 1 or base_width != 64: raise ValueError(...)` leaves one value for each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    stored_names,
    with_values,
    without_parameters,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal
from mlax_scaffold.conversion.source.walking import located


def without_demanded_defaults(origin: Origin, thing: str, notes: Notes) -> None:
    """Write their values in place, which is told; what is converted keeps its parameters."""
    used = used_by(origin, thing) - {thing}
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if framework_of(origin, node) != "torch" or start is None:
            continue
        if node.name not in used:
            continue
        defaults = defaults_of(start.args)
        for part in list(start.body):
            found = {*_demanded(part, defaults)}
            bound = {n for s in start.body for n in stored_names(s)}
            if not found or found & bound:
                continue
            said = ", ".join(f"`{p}`" for p in sorted(found))
            notes.remark(
                part,
                f"{said} of {node.name} have the values that this line demands",
                "others are not refused here: they have no effect",
            )
            start.body.remove(part)
            values = {p: defaults[p] for p in found}
            start.body = [with_values(s, values) for s in start.body]
            without_parameters(origin.tree, node, start, found)
    located(origin.tree)


def _demanded(node: ast.stmt, defaults: dict[str, ast.expr]) -> Iterator[str]:
    """The parameters that a statement refuses all values of but the default."""
    match node:
        case ast.If(test=test, body=[ast.Raise()], orelse=[]):
            parts = test.values if isinstance(test, ast.BoolOp) else [test]
            if isinstance(test, ast.BoolOp) and not isinstance(test.op, ast.Or):
                return
        case _:
            return
    found: list[str] = []
    for part in parts:
        match part:
            case ast.Compare(left=ast.Name(id=local), ops=[op], comparators=[right]):
                value, own = literal(right), literal(defaults.get(local))
                other = isinstance(op, ast.NotEq) and value == own
                more = isinstance(op, ast.Gt) and value == own == 1
                if local not in defaults or not (other or more):
                    return
                found.append(local)
            case _:
                return
    yield from found
