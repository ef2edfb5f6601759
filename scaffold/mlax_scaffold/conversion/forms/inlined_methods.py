"""Statements that call methods of the same object, with the bodies of these in their place."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.arguments_of import given_to, method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    names,
    self_attribute,
    with_names,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def with_methods_written_out(
    node: ast.ClassDef, body: list[ast.stmt], titles: Collection[str]
) -> list[ast.stmt]:
    """Statements with such calls written out: `self.measure(x)` and `x = self.scale(x)`.

    Methods that return in loops, and nothing at an end, stay calls.
    """
    made: list[ast.stmt] = []
    for part in body:
        for field in ("body", "orelse"):
            inner = getattr(part, field, None)
            if isinstance(inner, list):
                setattr(part, field, with_methods_written_out(node, inner, titles))
        made += _written(node, part, body, titles) or [part]
    return made


def with_begun_attributes(origin: Origin) -> None:
    """Write out what constructors of PyTorch leave to a method under a condition, in place.

    `if affine: self._init_params()` declares the weights that the method declares.
    """
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "torch":
            continue
        making = [
            m.name
            for m in node.body
            if isinstance(m, ast.FunctionDef) and _declares(origin, m)
        ]
        for part in start.body if making else ():
            if isinstance(part, ast.If):
                [_] = with_methods_written_out(node, [part], making)
        read = {self_attribute(p) for p in walk(node)}
        node.body = [
            m
            for m in node.body
            if getattr(m, "name", "") not in making or getattr(m, "name", "") in read
        ]
    located(origin.tree)


def _declares(origin: Origin, method: ast.FunctionDef) -> bool:
    """Whether a method of the class makes a weight of it."""
    return method.name not in ("__init__", "forward") and any(
        isinstance(p, ast.Assign)
        and self_attribute(p.targets[0])
        and isinstance(p.value, ast.Call)
        and origin.qualified(p.value.func) == "torch.nn.Parameter"
        for p in method.body
    )


def _written(
    node: ast.ClassDef,
    part: ast.stmt,
    around: list[ast.stmt],
    titles: Collection[str],
) -> list[ast.stmt] | None:
    match part:
        case ast.Expr(value=ast.Call() as call):
            target: ast.expr | None = None
        case ast.Assign(targets=[target], value=ast.Call() as call):
            pass
        case ast.Return(value=ast.Call() as call):
            target = None
        case _:
            return None
    title = self_attribute(call.func) or ""
    method = method_of(node, title) if title in titles else None
    bound = given_to(method, call) if method is not None else None
    if method is None or bound is None:
        return None
    inner = without_docstring(cloned(method.body))
    if sum(isinstance(p, ast.Return) for s in inner for p in walk(s)) > 1:
        inner = _with_one_end(inner)
    last = inner[-1] if isinstance(inner[-1], ast.Return) else None
    returns = [p for s in inner for p in walk(s) if isinstance(p, ast.Return)]
    if returns != ([last] if last is not None else []):
        return None
    if last is None and not isinstance(part, ast.Expr):
        return None
    if last is not None:
        inner = inner[:-1]
    parts: dict[str, ast.expr] = {}
    begun: list[ast.stmt] = []
    stored = {t.id for s in inner for t in _stored(s)}
    taken = {n for s in around for n in names(s)}
    shared = {
        p
        for p, v in bound.items()
        if isinstance(v, ast.Name) and v.id == p and _is_same(target, p)
    }
    for local in (stored | {*bound}) - shared:
        value = bound.get(local)
        plain = isinstance(value, ast.Name | ast.Constant) and local not in stored
        if value is not None and plain:
            parts[local] = value
            continue
        if local in taken:
            parts[local] = ast.Name(f"{title.strip('_')}_{local}", ast.Load())
        if value is not None:
            name = parts.get(local, ast.Name(local, ast.Load()))
            begun.append(ast.Assign([_store(name)], value))
    made = [*begun, *(with_names(s, parts) for s in inner)]
    if last is not None and last.value is not None and not isinstance(part, ast.Expr):
        [result] = [with_names(ast.Expr(last.value), parts)]
        assert isinstance(result, ast.Expr)
        part.value = result.value
        if not (isinstance(target, ast.Name) and is_name(part.value, target.id)):
            made.append(part)
    for one in made:
        for p in walk(one):
            if isinstance(p, ast.stmt | ast.expr) and not hasattr(p, "lineno"):
                ast.copy_location(p, part)
    return with_methods_written_out(node, made, [t for t in titles if t != title])


def _with_one_end(body: list[ast.stmt]) -> list[ast.stmt]:
    """A method that returns in branches, as one that returns at its end; as it is where it cannot be."""
    titles = {n for s in body for n in names(s)}
    result = next(t for t in ("result", "made", "result_") if t not in titles)
    made = _ended(cloned(body), result)
    if made is None:
        return body
    return [*made, ast.Return(ast.Name(result, ast.Load()))]


def _ended(body: list[ast.stmt], result: str) -> list[ast.stmt] | None:
    """Statements that bind what they return; None where some end returns nothing."""
    for at, part in enumerate(body):
        rest = body[at + 1 :]
        returns = any(isinstance(p, ast.Return) for p in walk(part))
        if isinstance(part, ast.Return) and part.value is not None:
            return [*body[:at], ast.Assign([ast.Name(result, ast.Store())], part.value)]
        if not returns:
            continue
        if not isinstance(part, ast.If):
            return None
        ends = [_ended([*cloned(b), *rest], result) for b in (part.body, part.orelse)]
        if ends[0] is None or ends[1] is None:
            return None
        part.body, part.orelse = ends[0], ends[1]
        return [*body[:at], part]
    return None


def _stored(node: ast.stmt) -> list[ast.Name]:
    return [
        p
        for p in walk(node)
        if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)
    ]


def _is_same(target: ast.expr | None, parameter: str) -> bool:
    """Whether what a call returns is bound to the name that it is given."""
    return isinstance(target, ast.Name) and target.id == parameter


def _store(node: ast.expr) -> ast.expr:
    made = cloned(node)
    made.ctx = ast.Store()  # type: ignore[attr-defined]
    return made
