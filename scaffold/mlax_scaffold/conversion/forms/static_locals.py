"""Locals of a call that are told by hyperparameters and loops, written where layers are made of them.

is_last = i == len(self.sizes) - 1
x = nn.Dense(size, use_bias=not is_last)(x)
becomes
x = nn.Dense(size, use_bias=not i == len(self.sizes) - 1)(x)

Layers are made in setup, where no such local is. Plain numbers are followed as they are.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute, with_names
from mlax_scaffold.conversion.source.walking import cloned, walk

_MAKERS = ("__init__", "setup", "__post_init__")
_CALLS = ("len", "max", "min", "int", "bool", "range", "list", "tuple", "sum", "any")


def without_static_locals(origin: Origin) -> None:
    """Write them so in methods of flax and haiku, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("flax", "haiku"):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name not in _MAKERS:
                _write(origin, method)


def _write(origin: Origin, method: ast.FunctionDef) -> None:
    # Those that stand last are read by none of the others.
    for part in reversed([*walk(method)]):
        for title in ("body", "orelse"):
            body = getattr(part, title, None)
            if body and isinstance(part, ast.FunctionDef | ast.For):
                while len(made := _inlined(origin, method, body)) < len(body):
                    body = made
                    setattr(part, title, made)


def _inlined(
    origin: Origin, method: ast.FunctionDef, body: list[ast.stmt]
) -> list[ast.stmt]:
    made = list(body)
    for part in reversed(body):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                pass
            case _:
                continue
        at = made.index(part)
        rest = made[at + 1 :]
        if any(_is_changed(n, local) for s in rest for n in walk(s)):
            continue
        inside = sum(_counted(s, local) for s in (part, *rest))
        bound = [
            n.id
            for s in rest
            for n in walk(s)
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        ]
        read = {n.id for n in walk(value) if isinstance(n, ast.Name)}
        if inside != _counted(method, local) or {local, *read} & {*bound}:
            continue
        if not _is_told(value, _loops(method, part)) or not _is_followed_by_none(value):
            continue
        if not any(_makes_layers(origin, s, local) for s in rest):
            continue
        parts = {local: cloned(value)}
        made = [*made[:at], *(with_names(s, parts) for s in rest)]
    return made


def _is_changed(node: ast.AST, local: str) -> bool:
    """Whether a list is changed: by a method, or where it is indexed."""
    match node:
        case ast.Attribute(value=value) | ast.Subscript(value=value, ctx=ast.Store()):
            return is_name(value, local)
    return False


def _counted(node: ast.AST, local: str) -> int:
    return sum(is_name(n, local) for n in walk(node))


def _loops(method: ast.FunctionDef, statement: ast.stmt) -> set[str]:
    """The names that the loops around a statement bind, once."""
    found: set[str] = set()
    for part in walk(method):
        if isinstance(part, ast.For) and any(p is statement for p in walk(part)):
            names = [n.id for n in walk(part.target) if isinstance(n, ast.Name)]
            found |= {n for n in names if not _stored(part.body, n)}
    return found


def _stored(body: list[ast.stmt], title: str) -> bool:
    return any(
        is_name(n, title) and not isinstance(n.ctx, ast.Load)  # type: ignore[attr-defined]
        for s in body
        for n in walk(s)
    )


def _is_told(node: ast.expr, loops: set[str]) -> bool:
    """Whether hyperparameters, numbers and what loops bind tell a value."""
    owners = {id(p.value) for p in walk(node) if self_attribute(p) is not None}  # type: ignore[attr-defined]
    heads = {id(p.func) for p in walk(node) if isinstance(p, ast.Call)}
    for part in walk(node):
        match part:
            case ast.Call(func=ast.Name(id=title), keywords=[]):
                if title not in _CALLS:
                    return False
            case ast.Call() | ast.Lambda() | ast.Starred() | ast.comprehension():
                return False
            case ast.Attribute():
                if self_attribute(part) is None:
                    return False
            case ast.Name(id=title):
                known = title in loops or id(part) in owners or id(part) in heads
                if not known:
                    return False
    return True


def _is_followed_by_none(node: ast.expr) -> bool:
    """Whether a value is no plain number: a truth, a list, how long one is, or a choice of such."""
    match node:
        case ast.Compare() | ast.BoolOp() | ast.List():
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.IfExp(test=test, body=body, orelse=other):
            numbers = all(
                isinstance(b, ast.Constant | ast.Tuple) for b in (body, other)
            )
            return not numbers and isinstance(test, ast.BoolOp | ast.Compare)
        case ast.BinOp(left=left, right=right):
            return _is_followed_by_none(left) or _is_followed_by_none(right)
        case ast.Call(func=ast.Name(id=title)):
            return title in ("len", "list", "tuple", "sum", "any", "bool")
    return False


def _makes_layers(origin: Origin, node: ast.stmt, local: str) -> bool:
    """Whether a statement makes a layer of a local, or layers in a loop over it or a branch of it."""
    for part in walk(node):
        match part:
            case ast.Call(args=args, keywords=keywords):
                given = [*args, *(k.value for k in keywords)]
                if _is_maker(origin, part) and any(_counted(g, local) for g in given):
                    return True
            case ast.For(iter=source):
                makes = any(_is_maker(origin, p) for p in walk(part))
                if makes and _counted(source, local):
                    return True
            case ast.Assign(value=ast.IfExp() | ast.BoolOp() | ast.UnaryOp() as value):
                if _counted(value, local):
                    return True
            case ast.If(test=test, body=body, orelse=other):
                makes = any(
                    _is_maker(origin, p) for s in (*body, *other) for p in walk(s)
                )
                if makes and _counted(test, local):
                    return True
    return False


def _is_maker(origin: Origin, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    own = origin.classes.get(getattr(node.func, "id", ""))
    if own is not None:
        return framework_of(origin, own) in ("flax", "haiku")
    return origin.qualified(node.func) in LAYERS
