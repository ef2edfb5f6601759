"""Methods that are handed a layer of their class, or a list of them, as one method for each.

q = self.encode(self.query, x)        becomes        q = self.encode_query(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    self_attribute,
    targets,
    with_names,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def without_handed_layers_of_methods(origin: Origin) -> None:
    """Write them so, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node):
            _in(node)
            located(node)


def _in(node: ast.ClassDef) -> None:
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    made: dict[str, ast.FunctionDef] = {}
    written: set[str] = set()
    for part in [p for m in methods.values() for p in walk(m)]:
        if not isinstance(part, ast.Call) or part.keywords:
            continue
        method = methods.get(self_attribute(part.func) or "")
        if method is None:
            continue
        places = [a.arg for a in method.args.args[1:]]
        handed = [
            (i, place, attribute)
            for i, (place, argument) in enumerate(zip(places, part.args, strict=False))
            if (attribute := self_attribute(argument)) and _calls(method, place)
        ]
        if len(handed) != 1:
            continue
        [(at, place, attribute)] = handed
        title = f"{method.name}_{attribute}"
        if title in methods:
            continue
        made.setdefault(title, _with(method, title, place, part.args[at]))
        written.add(method.name)
        part.args = [a for i, a in enumerate(part.args) if i != at]
        assert isinstance(part.func, ast.Attribute)
        part.func.attr = title
    node.body += made.values()
    written -= {self_attribute(p) for m in node.body for p in walk(m)}
    node.body = [m for m in node.body if getattr(m, "name", "") not in written]


def _calls(method: ast.FunctionDef, place: str) -> bool:
    """Whether a method does nothing with what it is given there but to call it, or its items."""
    if place in targets(method):
        return False
    reads = [p for p in walk(method) if is_name(p, place)]
    called = [u for p in walk(method) for u in _used(p) if is_name(u, place)]
    return bool(called) and len(reads) == len(called)


def _used(node: ast.AST) -> list[ast.expr]:
    """What a node calls, counts, goes over or takes a callable item of."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[counted]):
            return [counted]
        case ast.Call(func=ast.Subscript(value=owner)):
            return [owner]
        case ast.Call(func=called):
            return [called]
        case ast.For(iter=ast.Call(func=ast.Name(id="zip" | "enumerate"), args=given)):
            return given
        case ast.For(iter=gone_over):
            return [gone_over]
    return []


def _with(
    method: ast.FunctionDef, title: str, place: str, layer: ast.expr
) -> ast.FunctionDef:
    made = cloned(method)
    made.name = title
    late = len(made.args.args) - len(made.args.defaults)
    at = next(i for i, a in enumerate(made.args.args) if a.arg == place)
    if at >= late:
        del made.args.defaults[at - late]
    del made.args.args[at]
    made.body = [with_names(part, {place: layer}) for part in made.body]
    return made
