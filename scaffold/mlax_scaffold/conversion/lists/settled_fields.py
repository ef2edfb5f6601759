"""Fields of classes that a file gives nothing but a default, with those of others that hand them on."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    without_parameters,
)
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    same,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import walk


def fields_of(node: ast.ClassDef) -> dict[str, tuple[str, ast.expr | None]]:
    """What attributes are called where the class is called, and what each is by default."""
    start = method_of(node, "__init__")
    if start is None:
        return {
            p.target.id: (p.target.id, p.value)
            for p in node.body
            if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
        }
    defaults = defaults_of(start.args)
    kept = {
        attribute: part.value.id
        for part in start.body
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Name)
        and (attribute := self_attribute(part.targets[0]))
    }
    titles = [a.arg for a in start.args.args[1:]]
    places = {p: a for a, p in kept.items()}
    return {places.get(t, t): (t, defaults.get(t)) for t in titles}


def leave_out(
    origin: Origin,
    node: ast.ClassDef,
    settled: Mapping[str, ast.expr],
    fields: Mapping[str, tuple[str, ast.expr | None]],
) -> None:
    """Take out what is settled: fields, or parameters of a constructor that keeps them."""
    start = method_of(node, "__init__")
    if start is None:
        node.body = [
            p for p in node.body if getattr(_target(p), "id", "") not in settled
        ]
        return
    start.body = [
        p
        for p in start.body
        if not (isinstance(p, ast.Assign) and self_attribute(p.targets[0]) in settled)
    ]
    gone = {fields[attribute][0] for attribute in settled}
    without_parameters(origin.tree, node, start, gone)


def _target(node: ast.stmt) -> ast.expr | None:
    return node.target if isinstance(node, ast.AnnAssign) else None


def defaults_known(
    origin: Origin,
    node: ast.ClassDef,
    fields: Mapping[str, tuple[str, ast.expr | None]],
) -> dict[str, ast.expr]:
    """The fields of a class that the file never gives another value than a default that is written down."""
    titles = [title for title, _ in fields.values()]
    calls = [
        p
        for p in walk(origin.tree)
        if isinstance(p, ast.Call) and is_name(p.func, node.name)
    ]
    given = [(str(k.arg), k.value) for c in calls for k in c.keywords]
    given += [(t, a) for c in calls for t, a in zip(titles, c.args, strict=False)]
    handed: dict[str, list[ast.expr | None]] = {}
    for title, value in given:
        handed.setdefault(title, []).append(_by_default(origin, node, value))
    found: dict[str, ast.expr] = {}
    for attribute, (title, value) in fields.items():
        told = handed.get(title, [value])
        first = told[0]
        if first is None or isinstance(literal(first), ast.AST):
            continue
        if all(v is not None and same(v, first) for v in told):
            found[attribute] = first
    return found


def _by_default(origin: Origin, node: ast.ClassDef, value: ast.expr) -> ast.expr | None:
    """What a class is given where its owner hands on what that is by default, and nothing else ever."""
    owner, attribute = _owner(origin, node, value) or (None, "")
    if owner is None:
        return None
    return defaults_known(origin, owner, fields_of(owner)).get(attribute)


def _owner(
    origin: Origin, node: ast.ClassDef, value: ast.expr
) -> tuple[ast.ClassDef, str] | None:
    """The class that hands one of its fields on, and the field."""
    for owner in origin.classes.values():
        if owner is node or not any(part is value for part in walk(owner)):
            continue
        start = method_of(owner, "__init__")
        title = self_attribute(value) or getattr(value, "id", "")
        fields = fields_of(owner)
        kept = {t: a for a, (t, _) in fields.items()}
        attribute = title if self_attribute(value) else kept.get(title, "")
        within = start is not None and any(part is value for part in walk(start))
        if attribute in fields and (self_attribute(value) or within):
            return owner, attribute
    return None


def owners_of(
    origin: Origin, node: ast.ClassDef, titles: set[str]
) -> list[tuple[ast.ClassDef, str, ast.expr]]:
    """The fields of other classes that such fields are handed, and what they are by default."""
    places = [title for title, _ in fields_of(node).values()]
    found: list[tuple[ast.ClassDef, str, ast.expr]] = []
    for call in walk(origin.tree):
        if not isinstance(call, ast.Call) or not is_name(call.func, node.name):
            continue
        given = {str(k.arg): k.value for k in call.keywords}
        given |= dict(zip(places, call.args, strict=False))
        for title in given.keys() & titles:
            owner, attribute = _owner(origin, node, given[title]) or (None, "")
            if owner is None:
                continue
            value = defaults_known(origin, owner, fields := fields_of(owner)).get(
                attribute
            )
            if value is None or (owner, attribute) in [(o, a) for o, a, _ in found]:
                continue
            found.append((owner, attribute, value))
            found += owners_of(origin, owner, {fields[attribute][0]})
    return found


def settle(
    origin: Origin, owner: ast.ClassDef, attribute: str, value: ast.expr
) -> None:
    """Write what a field of a class is by default where it reads it, and leave the field out."""
    fields, start = fields_of(owner), method_of(owner, "__init__")
    settled = {attribute: value}
    for method in owner.body:
        if isinstance(method, ast.FunctionDef):
            own = {fields[attribute][0]: value} if method is start else {}
            stored = {
                id(p)
                for p in method.body
                if isinstance(p, ast.Assign)
                and self_attribute(p.targets[0]) == attribute
            }
            method.body = [
                p if id(p) in stored else Known(own, settled).visit(p)
                for p in method.body
            ]
    leave_out(origin, owner, settled, fields)
