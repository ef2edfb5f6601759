"""Keywords that a constructor hands on, `**kwargs`: those that the file gives, and that a layer must have."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.rows import default_in
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.arguments_of import defaults_of, method_of
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import cloned, located, walk

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
            for part in walk(start)
            if isinstance(part, ast.Call)
            and any(k.arg is None and is_name(k.value, title) for k in part.keywords)
        ]
        others = [p for p in walk(start) if is_name(p, title)]
        if len(others) != len(uses):
            continue
        given = _given(origin, node, start, uses)
        if given is None or (given and len(uses) != 1):
            continue
        if len(uses) == 1:
            given |= dict.fromkeys(_required(origin, uses[0], {*given}))
        if node.name == thing:
            notes.remark(
                start,
                f"`{title}` of {node.name} is left out",
                "add what it passes on as fields",
            )
        start.args.kwarg = None
        for argument, default in given.items():
            start.args.kwonlyargs.append(ast.arg(argument))
            start.args.kw_defaults.append(default)
        for use in uses:
            use.keywords = [k for k in use.keywords if k.arg is not None] + [
                ast.keyword(g, ast.Name(g, ast.Load())) for g in given
            ]
        located(start)


def _given(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, uses: list[ast.Call]
) -> dict[str, ast.expr | None] | None:
    """Further keywords that calls in the file give, and what each is where it is not given.

    None where that is not to be told.
    """
    known = {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
    found: list[set[str]] = []
    titles = {node.name, *_other_names(origin, node)}
    for part in walk(origin.tree):
        if isinstance(part, ast.Call) and getattr(part.func, "id", "") in titles:
            if any(k.arg is None for k in part.keywords):
                return None
            found.append({str(k.arg) for k in part.keywords if k.arg not in known})
    made: dict[str, ast.expr | None] = {}
    for title in sorted(set[str]().union(*found)):
        made[title] = None
        if not all(title in one for one in found):
            # Some calls leave it to what it is handed on to.
            default = _default(origin, uses[0].func, title, 0) if uses else None
            if default is None:
                return None
            made[title] = cloned(default)
    return made


def _other_names(origin: Origin, node: ast.ClassDef) -> set[str]:
    """What else a class is called: `if block is None: block = BasicConv`."""
    found: set[str] = set()
    for part in walk(origin.tree):
        match part:
            case ast.Assign(targets=[ast.Name(id=title)], value=value):
                found |= {title} if is_name(value, node.name) else set()
            case ast.FunctionDef(args=given):
                defaults = defaults_of(given)
                found |= {t for t, d in defaults.items() if is_name(d, node.name)}
    return found


def _required(origin: Origin, use: ast.Call, given: set[str]) -> list[str]:
    """What a layer of the library must be given, and neither the class nor the calls of it give."""
    row = LAYERS.get(origin.qualified(use.func))
    if row is None or any(isinstance(a, ast.Starred) for a in use.args):
        return []
    taken = ast.parse(f"def layer{row.signature}: ...").body[0]
    assert isinstance(taken, ast.FunctionDef)
    places = [a.arg for a in taken.args.args]
    here = {*places[: len(use.args)], *(str(k.arg) for k in use.keywords), *given}
    return [p for p in places if p not in {*here, *defaults_of(taken.args)}]


def _default(origin: Origin, func: ast.expr, title: str, depth: int) -> ast.expr | None:
    """What a parameter of a layer is where it is not given, as far as the file and the library tell."""
    row = LAYERS.get(origin.qualified(func))
    if row is not None:
        return default_in(row, title)
    node = origin.classes.get(getattr(func, "id", ""))
    start = method_of(node, "__init__") if node is not None else None
    if start is None or depth > _DEPTH:
        return None
    default = defaults_of(start.args).get(title)
    if default is not None or start.args.kwarg is None:
        return default
    inner = [
        part.func
        for part in walk(start)
        if isinstance(part, ast.Call)
        and any(is_name(k.value, start.args.kwarg.arg) for k in part.keywords)
    ]
    return _default(origin, inner[0], title, depth + 1) if len(inner) == 1 else None
