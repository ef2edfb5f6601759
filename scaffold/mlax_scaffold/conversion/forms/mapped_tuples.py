"""Functions that are mapped over a few values, `q, k, v = map(f, parts)`, as one statement for each.

So are `q, k, v = (f(a) for a in (q, k, v))`.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import is_name, names, replaced
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def without_mapped_tuples(node: ast.ClassDef) -> None:
    """Write them out in the methods of a class, in place: what is known of shapes goes through them."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            for part in walk(method):
                for field in ("body", "orelse"):
                    body = getattr(part, field, None)
                    if isinstance(body, list) and body:
                        made = [s for b in body for s in _one_by_one(b)]
                        setattr(part, field, made)


def _one_by_one(node: ast.stmt) -> list[ast.stmt]:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=[*targets])], value=value):
            bound = [t.id for t in targets if isinstance(t, ast.Name)]
            mapped = _mapped(value, len(targets))
        case _:
            return [node]
    if mapped is None or len(bound) != len(targets):
        return [node]
    parameter, body, source = mapped
    if set(bound) & (names(body) - {parameter}):
        return [node]
    given = source.elts if isinstance(source, ast.Tuple | ast.List) else []
    once = sum(is_name(part, parameter) for part in walk(body)) == 1
    apart = len(given) == len(bound) and not any(
        set(bound[:i]) & names(part) or not (once or isinstance(part, ast.Name))
        for i, part in enumerate(given)
    )
    node.value = source
    made: list[ast.stmt] = [] if apart else [node]
    for i, local in enumerate(bound):
        value_of = given[i] if apart else ast.Name(local, ast.Load())
        value = replaced(cloned(body), {parameter: value_of})
        assign = ast.Assign([ast.Name(local, ast.Store())], value)
        made.append(located(ast.copy_location(assign, node)))
    return made


def _mapped(node: ast.expr, count: int) -> tuple[str, ast.expr, ast.expr] | None:
    """The name of a value, what is made of each, and those that it is made of; None for anything else."""
    match node:
        case ast.Call(
            func=ast.Name(id="map"),
            args=[ast.Lambda(args=given, body=body), source],
            keywords=[],
        ) if len(given.args) == 1 and not given.defaults:
            return given.args[0].arg, body, source
        case ast.Call(
            func=ast.Name(id="map"),
            args=[ast.Name() | ast.Attribute() as func, source],
            keywords=[],
        ):
            return _VALUE, ast.Call(func, [ast.Name(_VALUE, ast.Load())], []), source
        case (
            ast.ListComp(elt=body, generators=[one])
            | ast.GeneratorExp(elt=body, generators=[one])
        ):
            given = one.iter.elts if isinstance(one.iter, ast.Tuple | ast.List) else []
            alone = len(given) == count and not one.ifs
            if alone and isinstance(one.target, ast.Name):
                return one.target.id, body, one.iter
    return None


_VALUE = "@value"
