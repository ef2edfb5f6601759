"""Calls of a class's own methods, `self.encode(x, train)`, without what these have not any more.

Flags of training and keys are no parameters of methods here: `self.training` and `self.key()` are at hand.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.rows.rows import follows_mode, says_mode
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk


@dataclass(frozen=True)
class Taken:
    """The parameters of a method, in order, and those that it has not here."""

    places: tuple[str, ...]
    left_out: frozenset[str]


def without_left_out(
    body: list[ast.stmt], methods: Mapping[str, Taken], notes: Notes
) -> None:
    """Write the calls in statements so, in place.

    Args:
        body: the statements.
        methods: those of the class, by the names that they have here.
        notes: what has no counterpart: a call in one mode, whatever the mode is.
    """
    for part in body:
        for node in walk(part):
            if not isinstance(node, ast.Call):
                continue
            taken = methods.get(self_attribute(node.func) or "")
            if taken is not None and taken.left_out and not _is_open(node):
                _leave_out(node, taken, notes)


def _is_open(node: ast.Call) -> bool:
    """Whether a call hands on arguments that are not told one by one."""
    spread = any(isinstance(a, ast.Starred) for a in node.args)
    return spread or any(k.arg is None for k in node.keywords)


def _leave_out(node: ast.Call, taken: Taken, notes: Notes) -> None:
    given = [*zip(taken.places, node.args, strict=False)]
    rest = node.args[len(given) :]
    for title, value in (*given, *((str(k.arg), k.value) for k in node.keywords)):
        if title not in taken.left_out or not says_mode(title):
            continue
        if not follows_mode(title, value):
            notes.refuse(
                node,
                f"`{title}={ast.unparse(value)}` of a call has no counterpart",
                "a layer is in the mode of the whole call here: leave the argument out",
            )
    node.args = [v for title, v in given if title not in taken.left_out] + rest
    node.keywords = [k for k in node.keywords if k.arg not in taken.left_out]
