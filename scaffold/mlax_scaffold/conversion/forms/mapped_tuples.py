"""Functions that are mapped over a few values, `q, k, v = map(f, parts)`, as one statement for each."""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.source.trees import names, replaced


def without_mapped_tuples(node: ast.ClassDef) -> None:
    """Write them out in the methods of a class, in place: what is known of shapes goes through them."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            for part in ast.walk(method):
                for field in ("body", "orelse"):
                    body = getattr(part, field, None)
                    if isinstance(body, list) and body:
                        made = [s for b in body for s in _one_by_one(b)]
                        setattr(part, field, made)


def _one_by_one(node: ast.stmt) -> list[ast.stmt]:
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=[*targets])],
            value=ast.Call(
                func=ast.Name(id="map"),
                args=[ast.Lambda(args=given, body=body), source],
                keywords=[],
            ),
        ) if len(given.args) == 1 and not given.defaults:
            bound = [t.id for t in targets if isinstance(t, ast.Name)]
            if len(bound) != len(targets) or set(bound) & names(body):
                return [node]
        case _:
            return [node]
    parameter = given.args[0].arg
    node.value = source
    made: list[ast.stmt] = [node]
    for local in bound:
        value = replaced(copy.deepcopy(body), {parameter: ast.Name(local, ast.Load())})
        assign = ast.Assign([ast.Name(local, ast.Store())], value)
        made.append(ast.fix_missing_locations(ast.copy_location(assign, node)))
    return made
