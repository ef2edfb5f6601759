"""Any number of arguments that a class of PyTorch takes, as one tuple of them.

class MLP(nn.Module):                          class MLP(nn.Module):
    def __init__(self, *sizes, act=nn.ReLU):       def __init__(self, sizes, act=nn.ReLU):

and `MLP(dim, hidden, dim)` is `MLP((dim, hidden, dim))`. So is what a call takes,
`def forward(self, *features)`, where it is told which parts are of that class. What is only handed on,
`super().__init__(*args)`, stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.handed.handed_lists import listed_parameters
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import located, walk


def without_starred_parameters(origin: Origin) -> None:
    """Write classes and what calls them so, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        start, call = method_of(node, "__init__"), method_of(node, "forward")
        if start is not None and _is_read(start):
            given = start.args.vararg
            held = given is not None and given.arg in listed_parameters(origin, node)
            calls = None if held else _constructions(origin, node)
            _take_one(start, calls)
        if call is not None and _is_read(call):
            assert call.args.vararg is not None
            kind = call.args.vararg.annotation
            call.args.vararg.annotation = kind or ast.Name("Tensor", ast.Load())
            _take_one(call, _calls(origin, node))
    located(origin.tree)


def _is_read(method: ast.FunctionDef) -> bool:
    """Whether what a method takes any number of is more than handed on."""
    given = method.args.vararg
    if given is None:
        return False
    handed = {
        id(a.value)
        for part in walk(method)
        if isinstance(part, ast.Call)
        for a in part.args
        if isinstance(a, ast.Starred)
    }
    return any(
        is_name(part, given.arg) and id(part) not in handed for part in walk(method)
    )


def _take_one(method: ast.FunctionDef, calls: list[ast.Call] | None) -> None:
    """Write a method with one parameter in the place of any number, and its calls."""
    given = method.args.vararg
    count = len(method.args.args) - 1
    if given is None or calls is None or method.args.posonlyargs:
        return
    if any(isinstance(a, ast.Starred) for c in calls for a in c.args[:count]):
        return
    if given.annotation is not None:
        given.annotation = expression("tuple[kind, ...]", kind=given.annotation)
    for default in method.args.defaults:
        method.args.kw_defaults.insert(0, default)
    late = len(method.args.defaults)
    if late:
        method.args.kwonlyargs[:0] = method.args.args[-late:]
        del method.args.args[-late:]
        method.args.defaults = []
    named = [a.arg for a in method.args.kwonlyargs[:late]]
    method.args.args.append(given)
    method.args.vararg = None
    for call in calls:
        call.keywords += [
            ast.keyword(n, v)
            for n, v in zip(named, call.args[count - late : count], strict=False)
        ]
        call.args = [*call.args[: count - late], _together(call.args[count:])]


def _together(given: list[ast.expr]) -> ast.expr:
    match given:
        case [ast.Starred(value=alone)]:
            return alone
    return ast.Tuple(given, ast.Load())


def _constructions(origin: Origin, node: ast.ClassDef) -> list[ast.Call] | None:
    """What makes a class; None where it is read in another way."""
    calls = [
        part
        for part in walk(origin.tree)
        if isinstance(part, ast.Call) and is_name(part.func, node.name)
    ]
    read = [part for part in walk(origin.tree) if is_name(part, node.name)]
    own = [
        part
        for part in walk(node)
        if isinstance(part, ast.Call)
        and is_name(part.func, "super")
        and any(is_name(a, node.name) for a in part.args)
    ]
    return calls if len(read) == len(calls) + len(own) else None


def _calls(origin: Origin, node: ast.ClassDef) -> list[ast.Call] | None:
    """What calls the parts that are of a class; None where these are not told."""
    made = _constructions(origin, node)
    if made is None:
        return None
    found: list[ast.Call] = []
    told: set[int] = set()
    for owner in origin.classes.values():
        inside = {id(part) for part in walk(owner)}
        here = [m for m in made if id(m) in inside]
        if not here:
            continue
        attributes = {
            str(title): part.value
            for part in walk(owner)
            if isinstance(part, ast.Assign)
            and (title := self_attribute(part.targets[0])) is not None
            and node.name in names(part.value)
        }
        told |= {id(m) for v in attributes.values() for m in walk(v)}
        for method in (m for m in owner.body if isinstance(m, ast.FunctionDef)):
            layers = {*_layers(method, {*attributes})}
            found += [
                part
                for part in walk(method)
                if isinstance(part, ast.Call)
                and (
                    _root(part.func) in attributes
                    or getattr(part.func, "id", "") in layers
                )
            ]
    runs = [m for m in made if id(m) not in told]
    tree = {id(p) for c in origin.classes.values() for p in walk(c)}
    return None if any(id(m) in tree for m in runs) else found


def _root(node: ast.expr) -> str | None:
    """The attribute that a layer is, or stands in: `self.nodes[0]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return self_attribute(node)


def _layers(method: ast.FunctionDef, attributes: set[str]) -> Iterator[str]:
    """The names of layers of these lists in loops."""
    loops = [p for p in walk(method) if isinstance(p, ast.For | ast.comprehension)]
    for loop in loops:
        yield from _of_loop(loop.target, loop.iter, attributes)


def _of_loop(target: ast.expr, source: ast.expr, attributes: set[str]) -> Iterator[str]:
    match target, source:
        case ast.Name(id=title), _ if _root(source) in attributes:
            yield title
        case ast.Tuple(elts=[_, one]), ast.Call(
            func=ast.Name(id="enumerate"), args=[inner, *_]
        ):
            yield from _of_loop(one, inner, attributes)
        case ast.Tuple(elts=several), ast.Call(func=ast.Name(id="zip"), args=given):
            for one, inner in zip(several, given, strict=False):
                yield from _of_loop(one, inner, attributes)
        case _, ast.Call(func=ast.Name(id="reversed"), args=[inner]):
            yield from _of_loop(target, inner, attributes)
