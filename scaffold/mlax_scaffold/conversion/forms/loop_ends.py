"""What stands in the `else` of a loop, which is run behind it where no `break` leaves the loop."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.walking import walk


def without_loop_ends(node: ast.AST, notes: Notes) -> None:
    """Write them behind the loops, in place; with a `break` they are listed."""
    for part in walk(node):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(part, field, None)
            if isinstance(body, list):
                setattr(part, field, _written(body, notes))


def _written(body: list[ast.stmt], notes: Notes) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        if isinstance(node, ast.For | ast.While) and node.orelse:
            if any(isinstance(part, ast.Break) for part in walk(node)):
                notes.refuse(
                    node.orelse[0],
                    "the `else` of a loop with `break` has no counterpart",
                    "keep what it depends on in a name of its own",
                )
            else:
                found += node.orelse
                node.orelse = []
    return found
