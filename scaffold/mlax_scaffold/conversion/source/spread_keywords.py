"""Keywords that a call takes from a dictionary of the file: `BatchNorm(**config)`, written out."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.source.trees import expression, literal
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_spread_keywords(tree: ast.Module) -> None:
    """Write the keywords into the calls, in place; what a dictionary is else used for stays."""
    outer = _dictionaries(tree.body)
    functions = [n for n in walk(tree) if isinstance(n, ast.FunctionDef)]
    for function in functions:
        own = _dictionaries(list(walk(function)))
        hidden = _stored(function) - set(own)
        known = {k: v for k, v in outer.items() if k not in hidden} | own
        if not known:
            continue
        _Calls(known).visit(function)
        for place in own:
            if not _read(function, place):
                _without(function, place)
    located(tree)


def _dictionaries(
    nodes: list[ast.stmt] | list[ast.AST],
) -> dict[str, ast.Dict | ast.IfExp]:
    """The dictionaries of keywords that names hold, which are assigned once and not changed."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=place)], value=value):
                found.setdefault(place, []).append(value)
            case ast.AugAssign(target=ast.Name(id=place), value=value):
                found.setdefault(place, []).append(value)
            case (
                ast.Call(func=ast.Attribute(value=ast.Name(id=place)))
                | ast.Subscript(value=ast.Name(id=place), ctx=ast.Store() | ast.Del())
            ):
                # `config.update(...)`, `config["a"] = ...`
                found.setdefault(place, []).append(ast.Constant(None))
    made = {k: _dictionary(v[0]) for k, v in found.items() if len(v) == 1}
    return {k: v for k, v in made.items() if v is not None}


_BEGIN = {
    "kernel_init": "initializers.lecun_normal()",
    "bias_init": "initializers.zeros",
}
"""What begins the weights of layers of flax that are told nothing, in the module of the layers."""


def _dictionary(node: ast.expr) -> ast.Dict | ast.IfExp | None:
    if isinstance(node, ast.IfExp):
        # `{"kernel_init": zeros} if zero_init else {}`
        sides = [_dictionary(s) for s in (node.body, node.orelse) if not _empty(s)]
        held = sides[0] if len(sides) == 1 else None
        told = isinstance(held, ast.Dict) and all(
            literal(k) in _BEGIN for k in held.keys
        )
        return node if told else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        named = all(k.arg is not None for k in node.keywords)
        if node.func.id == "dict" and not node.args and node.keywords and named:
            keys: list[ast.expr | None] = [ast.Constant(k.arg) for k in node.keywords]
            return ast.Dict(keys, [k.value for k in node.keywords])
        return None
    if not isinstance(node, ast.Dict) or not node.keys:
        return None
    texts = [literal(k) if k is not None else None for k in node.keys]
    return node if all(isinstance(t, str) and t.isidentifier() for t in texts) else None


def _empty(node: ast.expr) -> bool:
    return ast.unparse(node) in ("{}", "dict()")


class _Calls(NodeTransformer):
    def __init__(self, known: Mapping[str, ast.Dict | ast.IfExp]):
        self.known = known

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        keywords: list[ast.keyword] = []
        for keyword in node.keywords:
            place = keyword.value.id if isinstance(keyword.value, ast.Name) else ""
            held = self.known.get(place) if keyword.arg is None else None
            if isinstance(held, ast.IfExp):
                keywords += _chosen(held, node.func) or [keyword]
                continue
            if held is None:
                keywords.append(keyword)
                continue
            for key, value in zip(held.keys, held.values, strict=True):
                made = ast.keyword(str(literal(key)), cloned(value))
                keywords.append(ast.copy_location(made, keyword))
        node.keywords = keywords
        return node


def _chosen(held: ast.IfExp, func: ast.expr) -> list[ast.keyword]:
    """The initializers that a condition chooses, beside what else begins the weights of a layer."""
    if not isinstance(func, ast.Attribute):
        return []
    first = not _empty(held.body)
    told = held.body if first else held.orelse
    assert isinstance(told, ast.Dict)
    made: list[ast.keyword] = []
    for key, value in zip(told.keys, told.values, strict=True):
        title = str(literal(key))
        usual = expression(f"m.{_BEGIN[title]}", m=func.value)
        sides = (cloned(value), usual) if first else (usual, cloned(value))
        made.append(ast.keyword(title, ast.IfExp(cloned(held.test), *sides)))
    return made


def _stored(function: ast.FunctionDef) -> set[str]:
    given = (*function.args.args, *function.args.kwonlyargs)
    return {a.arg for a in given} | {
        n.id
        for n in walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _read(function: ast.FunctionDef, place: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == place and isinstance(n.ctx, ast.Load)
        for n in walk(function)
    )


def _without(function: ast.FunctionDef, place: str) -> None:
    for part in walk(function):
        for field in ("body", "orelse"):
            body = getattr(part, field, None)
            if not isinstance(body, list):
                continue
            kept = [s for s in body if not _assigns(s, place)]
            if len(kept) != len(body):
                setattr(part, field, kept or [ast.Pass()])


def _assigns(node: ast.stmt, place: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=known)]):
            return known == place
    return False
