"""Keywords that a constructor hands on, `**kwargs`: those that the file gives it, or none."""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name

_DEPTH = 4
"""Classes that hand keywords on to one another."""


def without_passed_keywords(origin: Origin, thing: str, notes: Notes) -> None:
    """Give such a constructor parameters of their names, in place; it is given no others."""
    # What hands its keywords on to another one is done before that.
    for node in [*origin.classes.values()] * _DEPTH:
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        if not isinstance(start, ast.FunctionDef) or start.args.kwarg is None:
            continue
        if not is_layer_class(origin, node):
            continue
        title = start.args.kwarg.arg
        uses = [
            part
            for part in ast.walk(start)
            if isinstance(part, ast.Call)
            and any(k.arg is None and is_name(k.value, title) for k in part.keywords)
        ]
        others = [p for p in ast.walk(start) if is_name(p, title)]
        if len(others) != len(uses):
            continue
        given = _given(origin, node, start)
        if given is None or (given and len(uses) != 1):
            continue
        if node.name == thing:
            notes.remark(
                start,
                f"`{title}` of {node.name} is left out",
                "add what it passes on as fields",
            )
        start.args.kwarg = None
        for argument in given:
            start.args.kwonlyargs.append(ast.arg(argument))
            start.args.kw_defaults.append(None)
        for use in uses:
            use.keywords = [k for k in use.keywords if k.arg is not None] + [
                ast.keyword(g, ast.Name(g, ast.Load())) for g in given
            ]
        ast.fix_missing_locations(start)


def _given(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef
) -> list[str] | None:
    """The keywords beside its parameters that all calls in the file give; None where they differ."""
    known = {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
    found: list[list[str]] = []
    for part in ast.walk(origin.tree):
        if isinstance(part, ast.Call) and is_name(part.func, node.name):
            if any(k.arg is None for k in part.keywords):
                return None
            found.append(
                sorted(str(k.arg) for k in part.keywords if k.arg not in known)
            )
    if any(one != found[0] for one in found):
        return None
    return copy.copy(found[0]) if found else []
