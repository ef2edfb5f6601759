"""Constructors that call that of a class of the file: `super().__init__(dim, scale=3.0)`, written out."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, names, without_docstring
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def with_bases(origin: Origin, node: ast.ClassDef) -> ast.ClassDef:
    """A class with the methods and fields of those of the file that it is derived from."""
    made = cloned(node)
    for base in node.bases:
        other = origin.classes.get(base.id) if isinstance(base, ast.Name) else None
        if other is None or other is node:
            continue
        other = with_bases(origin, other)
        if with_inherited_start(origin, made, other):
            # It has all that the base has, and is built on what that is built on.
            made.bases = [b for b in made.bases if not is_name(b, other.name)]
            made.bases += cloned(other.bases)
        known = {getattr(p, "name", None) for p in made.body}
        inherited = [
            p
            for p in other.body
            if isinstance(p, ast.AnnAssign | ast.Assign)
            or (isinstance(p, ast.FunctionDef) and p.name not in known)
        ]
        made.body = [*inherited, *made.body]
    return made


def with_inherited_start(
    origin: Origin, node: ast.ClassDef, base: ast.ClassDef
) -> bool:
    """Write the constructor of a base into that of a class, in place; whether that could be done."""
    start, other = method_of(node, "__init__"), method_of(base, "__init__")
    if start is None or other is None:
        return False
    calls = [p for p in start.body if _of_base(p, base.name)]
    nested = [
        p for p in walk(start) if isinstance(p, ast.stmt) and _of_base(p, base.name)
    ]
    if len(calls) != 1 or len(nested) != 1:
        return False
    call = calls[0].value  # type: ignore[attr-defined]
    if call.args and is_name(call.args[0], "self"):
        call = ast.Call(call.func, call.args[1:], call.keywords)
    if any(isinstance(a, ast.Starred) for a in call.args) or other.args.vararg:
        return False
    if other.args.kwarg or any(k.arg is None for k in call.keywords):
        return False
    given = cloned(other.args)
    given.args = given.args[1:]
    try:
        bound = bind(given, call)
    except MisfitError:
        return False
    parameters = {a.arg for a in (*given.args, *given.kwonlyargs)}
    values = {n: v for n, v in bound.items() if isinstance(v, ast.expr)}
    if set(values) != parameters:
        return False
    body = cloned(without_docstring(other.body))
    changed = {n for n, v in values.items() if not is_name(v, n)}
    taken = names(start)
    taken |= {a.arg for a in start.args.args}
    for part in body:
        for inner in walk(part):
            if isinstance(inner, ast.Name) and inner.id in changed:
                stored = isinstance(inner.ctx, ast.Store)
                if stored or _title(inner.id) in taken:
                    return False
                inner.id = _title(inner.id)
    before: list[ast.stmt] = [
        ast.copy_location(
            ast.Assign([ast.Name(_title(n), ast.Store())], cloned(values[n])),
            calls[0],
        )
        for n in sorted(changed)
    ]
    at = start.body.index(calls[0])
    start.body[at : at + 1] = [*before, *body]
    located(node)
    return True


def _title(name: str) -> str:
    return f"base_{name}"


def _of_base(node: ast.stmt, base: str) -> bool:
    """Whether a statement calls the constructor of the base."""
    call = node.value if isinstance(node, ast.Expr) else None
    func = call.func if isinstance(call, ast.Call) else None
    if not isinstance(func, ast.Attribute) or func.attr != "__init__":
        return False
    owner = func.value
    called = isinstance(owner, ast.Call) and is_name(owner.func, "super")
    return called or is_name(owner, base)
