"""Layers of PyTorch that are called with a function, `self.sublayer[0](x, lambda x: self.attn(x, mask))`.

What such a layer is made of, and what it computes, is written into the class that calls it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.arguments_of import beside_self
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    names,
    replaced,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_LIST = "torch.nn.ModuleList"


def without_given_functions(origin: Origin) -> None:
    """Write such layers out in place, in the classes that have them."""
    layers = {
        n: made
        for n, c in origin.classes.items()
        if framework_of(origin, c) == "torch" and (made := _read(c)) is not None
    }
    if not layers:
        return
    for owner in origin.classes.values():
        start = _method(owner, "__init__")
        for attribute, call, count in [*_held(origin, start, layers)] if start else ():
            made = cloned(owner)
            if _Written(made, attribute, call, count, layers).run():
                owner.body = made.body
                located(owner)


@dataclass(frozen=True)
class _Layer:
    """A class whose `forward` returns an expression that calls one of its inputs."""

    start: ast.FunctionDef
    parts: Mapping[str, ast.expr]
    """What its constructor sets."""
    inputs: tuple[str, ...]
    function: str
    """The input that is called."""
    value: ast.expr


def _method(node: ast.ClassDef, title: str) -> ast.FunctionDef | None:
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == title:
            return part
    return None


def _read(node: ast.ClassDef) -> _Layer | None:
    start, forward = _method(node, "__init__"), _method(node, "forward")
    if start is None or forward is None or start.args.vararg or start.args.kwarg:
        return None
    match without_docstring(forward.body):
        case [ast.Return(value=ast.expr() as value)]:
            pass
        case _:
            return None
    inputs = tuple(a.arg for a in forward.args.args[1:])
    called = [
        p.func.id
        for p in walk(value)
        if isinstance(p, ast.Call)
        and isinstance(p.func, ast.Name)
        and p.func.id in inputs
        and len(p.args) == 1
        and not p.keywords
    ]
    if len(called) != 1 or sum(is_name(p, called[0]) for p in walk(value)) != 1:
        return None
    parts: dict[str, ast.expr] = {}
    for part in without_docstring(start.body):
        match part:
            case ast.Assign(targets=[target], value=given) if self_attribute(target):
                parts[str(self_attribute(target))] = given
            case ast.Expr(value=ast.Call() as call) if "super" in names(call):
                pass
            case _:
                return None
    return _Layer(start, parts, inputs, called[0], value)


def _held(
    origin: Origin, start: ast.FunctionDef, layers: Mapping[str, _Layer]
) -> Iterator[tuple[str, ast.Call, int]]:
    """The attributes that are such layers, or lists of a known number of them."""
    for part in start.body:
        if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.Call):
            continue
        attribute, value, count = self_attribute(part.targets[0]), part.value, 0
        if origin.qualified(value.func) == _LIST and len(value.args) == 1:
            match value.args[0]:
                case ast.ListComp(
                    elt=ast.Call() as inner,
                    generators=[
                        ast.comprehension(
                            target=ast.Name(id=index),
                            iter=ast.Call(func=ast.Name(id="range"), args=[number]),
                            ifs=[],
                        )
                    ],
                ):
                    found = literal(number)
                    if type(found) is not int or index in names(inner):
                        continue
                    value, count = inner, found
        if attribute and getattr(value.func, "id", "") in layers:
            yield attribute, value, count


class _Written(NodeTransformer):
    """One attribute of one class."""

    def __init__(
        self,
        owner: ast.ClassDef,
        attribute: str,
        call: ast.Call,
        count: int,
        layers: Mapping[str, _Layer],
    ):
        self.owner, self.attribute, self.count = owner, attribute, count
        self.layer = layers[call.func.id]  # type: ignore[attr-defined]
        self.call = call
        self.before: list[ast.stmt] = []
        self.numbers = 0

    def run(self) -> bool:
        """Whether nothing else is done with it."""
        start = _method(self.owner, "__init__")
        assert start is not None
        inner = self.layer.start.args
        given = beside_self(inner)
        try:
            bound = bind(given, self.call)
        except MisfitError:
            return False
        values = {k: v for k, v in bound.items() if isinstance(v, ast.expr)}
        body: list[ast.stmt] = []
        for part in start.body:
            target = part.targets[0] if isinstance(part, ast.Assign) else part
            if self_attribute(target) != self.attribute:
                body.append(part)
                continue
            for place in range(self.count or 1):
                for name, value in self.layer.parts.items():
                    owner = ast.Name("self", ast.Load())
                    to = ast.Attribute(owner, self._title(place, name), ast.Store())
                    one = ast.Assign([to], replaced(value, values))
                    body.append(ast.copy_location(one, part))
        start.body = body
        for method in self.owner.body:
            if isinstance(method, ast.FunctionDef) and method is not start:
                self.known = names(method)
                self._block(method)
        return not any(self_attribute(p) == self.attribute for p in walk(self.owner))  # fmt: skip

    def _title(self, place: int, name: str) -> str:
        number = f"_{place}" if self.count else ""
        return f"{self.attribute}{number}_{name}"

    def _block(self, node: ast.AST) -> None:
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if not isinstance(body, list):
                continue
            made: list[ast.stmt] = []
            for part in body:
                if isinstance(part, ast.If | ast.For | ast.While | ast.With):
                    self._block(part)
                    made.append(part)
                    continue
                self.before = []
                last = self.visit(part)
                made += [*self.before, last]
            setattr(node, field, made)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        func, place = node.func, 0
        if isinstance(func, ast.Subscript):
            found = literal(func.slice)
            if type(found) is not int:
                return node
            func, place = func.value, found
        if self_attribute(func) != self.attribute or node.keywords:
            return node
        if len(node.args) != len(self.layer.inputs):
            return node
        given = dict(zip(self.layer.inputs, node.args, strict=True))
        function = given.pop(self.layer.function)
        if not all(isinstance(v, ast.Name | ast.Constant) for v in given.values()):
            return node
        if isinstance(function, ast.Lambda) and len(function.args.args) != 1:
            return node
        value = _Own(self, place).visit(cloned(self.layer.value))
        made = _Called(self, function, node).visit(replaced(value, given))
        for part in walk(made):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node)
        return made

    def fresh(self) -> str:
        """A name that the method has not."""
        title = "inner"
        while title in self.known:
            title += "_"
        self.known.add(title)
        return title


class _Own(NodeTransformer):
    """What the layer reads of itself, as attributes of the class."""

    def __init__(self, written: _Written, place: int):
        self.written, self.place = written, place

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node) in self.written.layer.parts:
            node.attr = self.written._title(self.place, node.attr)
        return node


class _Called(NodeTransformer):
    """The call of the function that is given, written out."""

    def __init__(
        self,
        written: _Written,
        function: ast.expr,
        at: ast.Call,
    ):
        self.written, self.function, self.at = written, function, at

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not is_name(node.func, self.written.layer.function):
            return node
        argument = node.args[0]
        if not isinstance(self.function, ast.Lambda):
            return ast.Call(cloned(self.function), [argument], [])
        local = self.written.fresh()
        assign = ast.Assign([ast.Name(local, ast.Store())], argument)
        self.written.before.append(located(ast.copy_location(assign, self.at)))
        parameter = self.function.args.args[0].arg
        body = replaced(self.function.body, {parameter: ast.Name(local, ast.Load())})
        return body
