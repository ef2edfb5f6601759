"""Lambdas that a scan runs, as functions with a name: what is known of a step goes through these.

_, y = lax.scan(lambda h, x: cell(p, h, x), h, x)
becomes
def step(h, x):
    return cell(p, h, x)
_, y = lax.scan(step, h, x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import located, walk

_SCAN = "jax.lax.scan"
_STEP = "step"


def without_scanned_lambdas(origin: Origin) -> None:
    """Write them so, in place."""
    if not origin.uses("jax"):
        return
    for function in walk(origin.tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in list(walk(function)):
            for field in ("body", "orelse"):
                block = getattr(node, field, None)
                if isinstance(block, list):
                    made = [s for p in block for s in _named(origin, function, p)]
                    setattr(node, field, made)
    located(origin.tree)


def _named(origin: Origin, function: ast.FunctionDef, node: ast.stmt) -> list[ast.stmt]:
    """A statement, behind the functions that its steps are."""
    if not isinstance(node, ast.Assign | ast.Return | ast.Expr):
        return [node]
    found: list[ast.stmt] = []
    for call in walk(node):
        match call:
            case ast.Call(func=func, args=[ast.Lambda(args=given, body=body), *_]):
                if origin.qualified(func) != _SCAN or given.defaults:
                    continue
            case _:
                continue
        title, count = _STEP, 1
        while title in _taken(function):
            count += 1
            title = f"{_STEP}_{count}"
        made = ast.FunctionDef(title, given, [ast.Return(body)], [], None)
        found.append(ast.copy_location(made, node))
        step = ast.copy_location(ast.Name(title, ast.Load()), call.args[0])
        call.args[0] = step
    return [*found, node]


def _taken(function: ast.FunctionDef) -> set[str]:
    parts = [*walk(function)]
    found = {p.id for p in parts if isinstance(p, ast.Name)}
    found |= {p.name for p in parts if isinstance(p, ast.FunctionDef)}
    return found | {p.arg for p in parts if isinstance(p, ast.arg)}
