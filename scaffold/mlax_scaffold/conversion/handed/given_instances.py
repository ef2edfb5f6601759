"""Layers that are handed to a class: `Block(width, downsample)`, made by the class that holds them."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.arguments_of import beside_self
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_given_instances(origin: Origin, layers: Collection[str]) -> None:
    """Make such layers in the class that is given them, in place; it is told whether to.

    `downsample = None`, and under a condition `downsample = nn.Sequential(...)`, is that condition then.
    """
    for owner in origin.classes.values():
        for method in owner.body:
            if isinstance(method, ast.FunctionDef):
                for found in _given(origin, method, layers):
                    found.write()
    located(origin.tree)


@dataclass
class _Given:
    """A local that is None or a layer, and the constructor that it is handed to."""

    tree: ast.Module
    method: ast.FunctionDef
    local: str
    title: str
    """The class."""
    place: int
    choice: ast.If
    layer: ast.expr
    start: ast.FunctionDef
    parameter: str
    stored: ast.Assign

    def write(self) -> None:
        """Make the layer there."""
        told = ast.Name(self.parameter, ast.Load())
        self.stored.value = ast.copy_location(
            ast.IfExp(told, self.layer, ast.Constant(None)), self.stored
        )
        _Calls(self.title, self.place, self.parameter, self.local).visit(self.tree)
        _told(self.start, self.parameter)
        target = ast.Name(self.local, ast.Store())
        chosen = ast.copy_location(ast.Assign([target], self.choice.test), self.choice)
        self.method.body = [
            chosen if s is self.choice else s
            for s in self.method.body
            if not _begins(s, self.local)
        ]


def _given(
    origin: Origin, method: ast.FunctionDef, layers: Collection[str]
) -> list[_Given]:
    found: list[_Given] = []
    for part in method.body:
        match part:
            case ast.If(
                body=[
                    ast.Assign(targets=[ast.Name(id=local)], value=ast.Call() as layer)
                ],
                orelse=[],
            ) if _makes(origin, layer, layers):
                begun = any(_begins(s, local) for s in method.body)
                made = _handed(origin, method, local, part, layer) if begun else None
                found += [made] if made is not None else []
    return found


def _makes(origin: Origin, call: ast.Call, layers: Collection[str]) -> bool:
    title = call.func.id if isinstance(call.func, ast.Name) else ""
    return (
        origin.qualified(call.func) in (*layers, "torch.nn.Sequential")
        or title in origin.classes
    )


def _begins(node: ast.stmt, local: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=known)], value=value):
            return known == local and is_none(value)
    return False


def _handed(
    origin: Origin, method: ast.FunctionDef, local: str, choice: ast.If, layer: ast.expr
) -> _Given | None:
    calls = [
        part
        for part in walk(method)
        if isinstance(part, ast.Call)
        and any(
            is_name(a, local) for a in (*part.args, *(k.value for k in part.keywords))
        )
    ]
    reads = sum(
        isinstance(n, ast.Name) and n.id == local and isinstance(n.ctx, ast.Load)
        for n in walk(method)
    )
    if len(calls) != 1 or reads != 1 or not isinstance(calls[0].func, ast.Name):
        return None
    other = origin.classes.get(calls[0].func.id)
    start = next(
        (
            m
            for m in (other.body if other is not None else [])
            if isinstance(m, ast.FunctionDef) and m.name == "__init__"
        ),
        None,
    )
    if start is None or start.args.vararg or start.args.kwarg:
        return None
    inputs = beside_self(start.args)
    try:
        bound = bind(inputs, calls[0])
    except MisfitError:
        return None
    parameter = next(k for k, v in bound.items() if is_name(v, local))  # type: ignore[arg-type]
    stored = [
        s
        for s in start.body
        if isinstance(s, ast.Assign)
        and self_attribute(s.targets[0])
        and is_name(s.value, parameter)
    ]
    used = sum(is_name(n, parameter) for n in walk(start))
    if len(stored) != 1 or used != 1:
        return None
    passed = {
        ast.unparse(v): k
        for k, v in bound.items()
        if k != parameter and isinstance(v, ast.Name | ast.Attribute)
    }
    made = _Passed(passed).visit(cloned(layer))
    free = {n for n in names(made) & _locals(method) if n not in passed.values()} | {
        a for p in walk(made) if (a := self_attribute(p))
    }
    if free:
        return None
    title, place = calls[0].func.id, _place(start, parameter)
    for call in walk(origin.tree):
        if isinstance(call, ast.Call) and is_name(call.func, title):
            value = given_of(call, place, parameter)
            if not (value is None or is_none(value) or call is calls[0]):
                return None
    return _Given(
        origin.tree, method, local, title, place, choice, made, start, parameter, stored[0]
    )  # fmt: skip


def _place(start: ast.FunctionDef, parameter: str) -> int:
    """The place of a parameter among the arguments; past all of them where it has none."""
    places = [a.arg for a in start.args.args[1:]]
    return places.index(parameter) if parameter in places else 1000


class _Passed(NodeTransformer):
    """What is handed on, as the parameter that it is there."""

    def __init__(self, passed: dict[str, str]):
        self.passed = passed

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self.passed.get(node.id)
        return ast.Name(known, ast.Load()) if known else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        known = self.passed.get(ast.unparse(node))
        if known:
            return ast.Name(known, ast.Load())
        self.generic_visit(node)
        return node


def _locals(method: ast.FunctionDef) -> set[str]:
    given = {a.arg for a in (*method.args.args, *method.args.kwonlyargs)}
    return given | {
        n.id
        for n in walk(method)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _told(start: ast.FunctionDef, parameter: str) -> None:
    """Make a parameter one that is told by name, in any case, whether there is such a layer."""
    given = start.args
    late = given.args[len(given.args) - len(given.defaults) :]
    for place, argument in enumerate(late):
        if argument.arg == parameter:
            del given.defaults[place]
    for place, argument in enumerate(given.kwonlyargs):
        if argument.arg == parameter:
            del given.kw_defaults[place]
    for arguments in (given.args, given.kwonlyargs):
        arguments[:] = [a for a in arguments if a.arg != parameter]
    given.kwonlyargs.append(ast.arg(parameter, ast.Name("bool", ast.Load())))
    given.kw_defaults.append(None)


class _Calls(NodeTransformer):
    """Calls of the class, each of which says whether there is such a layer."""

    def __init__(self, title: str, place: int, parameter: str, local: str):
        self.title, self.place, self.parameter = title, place, parameter
        self.local = local

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if not is_name(node.func, self.title):
            return node
        value = given_of(node, self.place, self.parameter)
        if self.place < len(node.args):
            del node.args[self.place]
        node.keywords = [k for k in node.keywords if k.arg != self.parameter]
        told = value if is_name(value, self.local) else ast.Constant(False)
        assert told is not None
        node.keywords.append(ast.keyword(self.parameter, told))
        return node


def given_of(call: ast.Call, place: int, parameter: str) -> ast.expr | None:
    """What a call gives a parameter; None: nothing."""
    if place < len(call.args):
        return call.args[place]
    return next((k.value for k in call.keywords if k.arg == parameter), None)
