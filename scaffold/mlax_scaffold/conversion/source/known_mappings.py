"""Mappings that are written out: what they have under a key, and what calls do with them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import literal


def spread_out(keyword: ast.keyword) -> list[ast.keyword]:
    """A keyword; of `**{"bias": True}`, the keywords that it stands for."""
    value = keyword.value
    if keyword.arg is not None or not isinstance(value, ast.Dict):
        return [keyword]
    keys = [literal(k) if k is not None else None for k in value.keys]
    if not all(isinstance(k, str) for k in keys):
        return [keyword]
    return [ast.keyword(str(k), v) for k, v in zip(keys, value.values, strict=True)]


def entry(owner: ast.Dict, key: ast.expr) -> ast.expr | None:
    """What a mapping has under a key; None where that is not to be told."""
    wanted = literal(key)
    for at, value in zip(owner.keys, owner.values, strict=True):
        if at is None or isinstance(wanted, ast.AST):
            return None
        if literal(at) == wanted:
            return value
    return None


def mapped(node: ast.Call) -> ast.expr | None:
    """What a call makes of a mapping, or a mapping; None of anything else."""
    match node:
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=named) if all(
            k.arg for k in named
        ):
            keys: list[ast.expr | None] = [ast.Constant(k.arg) for k in named]
            return ast.Dict(keys, [k.value for k in named])
        case ast.Call(
            func=ast.Attribute(value=ast.Dict() as owner, attr="get"),
            args=[key, *rest],
        ):
            known = [None if k is None else literal(k) for k in owner.keys]
            if None in known or any(
                isinstance(k, ast.AST) for k in (*known, literal(key))
            ):
                return None
            other = rest[0] if rest else ast.Constant(None)
            return entry(owner, key) or other
        case ast.Call(
            func=ast.Attribute(value=ast.Dict() as owner, attr=attr), args=[]
        ):
            pairs = [
                ast.Tuple([k, v], ast.Load())
                for k, v in zip(owner.keys, owner.values, strict=True)
                if k is not None
            ]
            places = {"keys": 0, "values": 1}
            if attr in places:
                return ast.List([p.elts[places[attr]] for p in pairs], ast.Load())
            if attr == "items":
                return ast.List([*pairs], ast.Load())
    return None
