"""Locals of flax and haiku that hold a key for a call, or None: `dropout_rng = self.make_rng("dropout")`.

What drops here draws its own keys.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_none
from mlax_scaffold.conversion.source.walking import located, walk

_MAKES = ("make_rng", "next_rng_key")


def without_kept_keys(origin: Origin) -> None:
    """Leave them out in place, where keywords of their name alone are given them."""
    for node in origin.classes.values():
        if framework_of(origin, node) == "nnx":
            _without_streams(origin, node)
        if framework_of(origin, node) not in ("flax", "haiku"):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                for local in _keys(method):
                    _without(method, local)
    located(origin.tree)


def _without_streams(origin: Origin, node: ast.ClassDef) -> None:
    """Leave out the keys that layers of nnx are made with there and then: `rngs=nnx.Rngs(0)`."""
    for part in walk(node):
        if isinstance(part, ast.Call):
            part.keywords = [
                k
                for k in part.keywords
                if not (
                    isinstance(k.value, ast.Call)
                    and origin.qualified(k.value.func) == "flax.nnx.Rngs"
                )
            ]


def _keys(method: ast.FunctionDef) -> list[str]:
    found: dict[str, list[ast.expr]] = {}
    for part in walk(method):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                found.setdefault(local, []).append(value)
    keys = [
        local
        for local, values in found.items()
        if any(map(_makes, values)) and all(is_none(v) or _makes(v) for v in values)
    ]
    given = [
        k.value.id
        for part in walk(method)
        if isinstance(part, ast.Call)
        for k in part.keywords
        if isinstance(k.value, ast.Name)
    ]
    read = [
        p.id
        for p in walk(method)
        if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)
    ]
    return [k for k in keys if given.count(k) == read.count(k) > 0]


def _makes(value: ast.expr) -> bool:
    func = value.func if isinstance(value, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr in _MAKES


def _without(method: ast.FunctionDef, local: str) -> None:
    for part in walk(method):
        if isinstance(part, ast.Call):
            part.keywords = [
                k for k in part.keywords if getattr(k.value, "id", "") != local
            ]
        for title in ("body", "orelse"):
            body = getattr(part, title, None)
            if isinstance(body, list):
                kept = [s for s in body if not _binds(s, local)]
                setattr(part, title, kept or ([ast.Pass()] if body and title == "body" else []))  # fmt: skip


def _binds(node: ast.stmt, local: str) -> bool:
    """Whether a statement binds the local, and does nothing else."""
    match node:
        case ast.Assign(targets=[ast.Name(id=bound)]):
            return bound == local
        case ast.If(body=body, orelse=orelse):
            return all(_binds(s, local) for s in (*body, *orelse))
    return False
