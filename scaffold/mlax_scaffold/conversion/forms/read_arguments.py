"""Methods of PyTorch that read what they are given by its place, or by its name, as methods with parameters.

def loss(self, *args, **kwargs):             def loss(self, images, weight):
    images = args[0]                 becomes     return weight * images.mean()
    return kwargs["weight"] * images.mean()

What hands all of it on stays as it is.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, names
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    NodeVisitor,
    located,
)


def with_read_arguments(origin: Origin) -> None:
    """Give such methods of a file parameters, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                _read(method)


def _read(method: ast.FunctionDef) -> None:
    given = method.args
    places = given.vararg.arg if given.vararg else ""
    keys = given.kwarg.arg if given.kwarg else ""
    if not places and not keys:
        return
    found = _Reads(places, keys)
    for part in method.body:
        found.visit(part)
    if found.other or (places and given.kwonlyargs):
        return
    if not found.places and not found.keys:
        return
    taken = {a.arg for a in (*given.args, *given.kwonlyargs)}
    titles = _titles(method, places, found.places, taken)
    if set(titles.values()) & set(found.keys) or set(found.keys) & taken:
        return
    count = max(found.places, default=-1) + 1
    more = [titles.get(place, f"{places}_{place}") for place in range(count)]
    required = [k for k, default in found.keys.items() if default is None]
    late = {k: d for k, d in found.keys.items() if d is not None}
    if given.defaults and (more or required):
        return
    given.args += [ast.arg(title) for title in (*more, *required, *late)]
    given.defaults += late.values()
    given.vararg = given.kwarg = None
    method.body = [s for s in method.body if not _is_named(s, places, titles)]
    write = _Named(places, keys, titles)
    method.body = [write.visit(s) for s in method.body] or [ast.Pass()]
    located(method)


def _titles(
    method: ast.FunctionDef, places: str, read: set[int], taken: set[str]
) -> dict[int, str]:
    """What the body calls what it is given, by the place."""
    found: dict[int, str] = {}
    for part in method.body:
        match part:
            case ast.Assign(
                targets=[ast.Name(id=title)],
                value=ast.Subscript(value=owner, slice=index),
            ) if is_name(owner, places):
                place = literal(index)
                if isinstance(place, int) and place not in found:
                    found[place] = title
    free = [t for t in found.values() if t not in taken]
    if len(set(free)) != len(found):
        found = {}
    body = ast.Module(method.body, [])
    for place in read - set(found):
        title = f"{places}_{place}"
        while title in names(body):
            title += "_"
        found[place] = title
    return found


def _is_named(node: ast.stmt, places: str, titles: dict[int, str]) -> bool:
    """Whether a statement does nothing but name what is a parameter by now."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=title)], value=ast.Subscript(value=owner, slice=index)
        ):
            place = literal(index)
            named = isinstance(place, int) and titles.get(place) == title
            return is_name(owner, places) and named
    return False


class _Reads(NodeVisitor):
    """How a body reads what it is given."""

    def __init__(self, places: str, keys: str):
        self.args, self.kwargs = places, keys
        self.places: set[int] = set()
        self.keys: dict[str, ast.expr | None] = {}
        self.other = False

    def visit_Subscript(self, node: ast.Subscript) -> None:
        at = literal(node.slice)
        if is_name(node.value, self.args) and type(at) is int and at >= 0:
            self.places.add(at)
        elif is_name(node.value, self.kwargs) and isinstance(at, str):
            self.keys[at] = None
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        match node:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="get"),
                args=[ast.Constant(value=str(key)), default],
                keywords=[],
            ) if is_name(owner, self.kwargs):
                self.keys.setdefault(key, default)
            case _:
                self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.other = self.other or node.id in (self.args, self.kwargs)


class _Named(NodeTransformer):
    """Writes the parameters in the place of what is read."""

    def __init__(self, places: str, keys: str, titles: dict[int, str]):
        self.args, self.kwargs, self.titles = places, keys, titles

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        at = literal(node.slice)
        if is_name(node.value, self.args) and isinstance(at, int):
            return ast.copy_location(ast.Name(self.titles[at], ast.Load()), node)
        if is_name(node.value, self.kwargs) and isinstance(at, str):
            return ast.copy_location(ast.Name(at, ast.Load()), node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="get"),
                args=[ast.Constant(value=str(key)), _],
            ) if is_name(owner, self.kwargs):
                return ast.copy_location(ast.Name(key, ast.Load()), node)
        self.generic_visit(node)
        return node
