"""Tables that a file makes a class of PyTorch with, `MobileNet(cfgs, mode="large")`: those of its first call.

What no hyperparameter can be, such as a list of lists or a class, is a part of the class then; texts and
lists of sizes are defaults.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.arguments_of import beside_self
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, names
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def with_file_tables(origin: Origin, thing: str, notes: Notes) -> dict[str, str]:
    """Write them into the class in place, which is told.

    Returns:
        What the original is given for the parameters that the class has no more, to be compared.
    """
    node = origin.classes.get(thing)
    if node is None or not origin.uses("torch"):
        return {}
    start = next((m for m in node.body if getattr(m, "name", "") == "__init__"), None)
    if not isinstance(start, ast.FunctionDef) or start.args.posonlyargs:
        return {}
    given = start.args
    without = [a.arg for a in given.args[1 : len(given.args) - len(given.defaults)]]
    without += [
        a.arg
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if d is None
    ]
    for values in _calls(origin, node, start):
        found = {p: v for p in without if (v := values.get(p)) is not None}
        tables = {
            p: v for p, v in found.items() if _is_table(v) or _is_class(origin, v)
        }
        defaults = {p: v for p, v in found.items() if _is_default(v)}
        if not tables and not defaults:
            continue
        _write(start, tables, defaults)
        for parameter, value in {**tables, **defaults}.items():
            fixed = "is" if parameter in tables else "is by default"
            notes.remark(
                value,
                f"`{parameter}` of {thing} {fixed} here what this line says",
                "change it in the spec where another one is to be built",
            )
        return {p: ast.unparse(v) for p, v in tables.items()}
    return {}


def _calls(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef
) -> Iterator[dict[str, ast.expr]]:
    """What calls of the class give it, with the literals that locals and constants of the file are."""
    inputs = beside_self(start.args, open_ended=True)
    constants = {n: a.value for n, a in origin.assigned.items() if a.value is not None}
    scopes: list[ast.AST] = [*origin.functions.values()]
    scopes += [s for s in origin.tree.body if not isinstance(s, ast.ClassDef)]
    for scope in scopes:
        known = dict(constants)
        for part in walk(scope):
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    known[local] = value
        for call in walk(scope):
            if not isinstance(call, ast.Call) or not is_name(call.func, node.name):
                continue
            plain = cloned(call)
            plain.keywords = [k for k in plain.keywords if k.arg is not None]
            try:
                bound = bind(inputs, plain)
            except MisfitError:
                continue
            yield {
                k: _told(v, known) for k, v in bound.items() if isinstance(v, ast.expr)
            }


def _told(node: ast.expr, known: dict[str, ast.expr]) -> ast.expr:
    """A value, through names and through tables that are read at a literal place."""
    for _ in range(4):
        if isinstance(node, ast.Name) and node.id in known:
            node = known[node.id]
        match node:
            case ast.Subscript(value=ast.Name(id=local), slice=ast.Constant(value=at)):
                table = known.get(local)
                if isinstance(table, ast.Dict):
                    for key, value in zip(table.keys, table.values, strict=True):
                        if literal(key) == at:
                            node = value
    return node


def _is_table(node: ast.expr) -> bool:
    """Whether a value is a literal that no hyperparameter can be."""
    value = literal(node)
    if isinstance(value, dict):
        return bool(value)
    inner = value if isinstance(value, list | tuple) else ()
    return any(isinstance(v, list | tuple | dict | str) for v in inner)


def _is_class(origin: Origin, node: ast.expr) -> bool:
    """Whether a value is a class of layers."""
    known = origin.classes.get(node.id) if isinstance(node, ast.Name) else None
    return known is not None and is_layer_class(origin, known)


def _is_default(node: ast.expr) -> bool:
    """Whether a value is a literal that a hyperparameter has by default."""
    value = literal(node)
    if isinstance(value, str | bool):
        return True
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(type(v) is int for v in value)
    )


def _write(
    start: ast.FunctionDef,
    tables: dict[str, ast.expr],
    defaults: dict[str, ast.expr],
) -> None:
    given = start.args
    late = given.args[len(given.args) - len(given.defaults) :]
    known = dict(zip([a.arg for a in late], given.defaults, strict=True)) | defaults
    kept = [a for a in given.args if a.arg not in tables]
    # Those after a default are told by name, as they have none.
    first = next((i for i, a in enumerate(kept) if a.arg in known), len(kept))
    named = [a for a in kept[first:] if a.arg not in known]
    given.args = [*kept[:first], *(a for a in kept[first:] if a.arg in known)]
    given.defaults = [cloned(known[a.arg]) for a in given.args[first:]]
    both = [
        (a, defaults.get(a.arg, d))
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if a.arg not in tables
    ]
    given.kwonlyargs = [*named, *(a for a, _ in both)]
    given.kw_defaults = [*([None] * len(named)), *(d for _, d in both)]
    at = next(
        (
            i + 1
            for i, s in enumerate(start.body)
            if "super" in names(s) or isinstance(s, ast.Expr)
        ),
        0,
    )
    start.body[at:at] = [
        ast.copy_location(ast.Assign([ast.Name(p, ast.Store())], v), start.body[0])
        for p, v in tables.items()
    ]
    located(start)
