"""Methods in terms of places: a variable that stands for a layer holds its index or key instead.

`for layer in self.layers: x = layer(x)` is read as
`for layer in range(len(self.layers)): x = self.layers[layer](x)`, so that all that follows knows which
weights and which state a call has, however it came to the layer. Each line stays where it is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlax_scaffold.model.places import DICT, LIST, Member, Step, container_of, under
from mlax_scaffold.model.resolved import Change
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.containers.declared import (
    Form,
    KindOf,
    declared_in,
    step_of,
)
from mlax_scaffold.reader.containers.entries import Entering, EntriesOf, Layers
from mlax_scaffold.reader.containers.place import Place, joined, key_of, open_steps
from mlax_scaffold.reader.containers.uses import (
    aliases_of,
    holds_layers,
    is_layer,
    removed,
    used_otherwise,
)
from mlax_scaffold.reader.source import self_attribute

_ASKING = frozenset(("isinstance", "len", "type", "hasattr", "getattr", "callable"))
"""What calls no function that it is given."""
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def resolve_class(
    node: ast.ClassDef,
    kind_of: KindOf,
    entries_of: EntriesOf = lambda kind: {},
    text: str = "",
) -> list[Change]:
    """What to change in the text of a class, so that no variable is a layer of a container."""
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    setup = next((m for m in methods if m.name == "setup"), None)
    if setup is None:
        return []
    declared = declared_in(setup, kind_of)
    aliases = aliases_of(setup, declared)
    others = [m for m in methods if m is not setup]
    containers = {
        name: tuple(d.members)
        for name, d in declared.items()
        if holds_layers(d) and (d.form is Form.TREE or used_otherwise(name, d, others))
    }
    plain = {
        name: tuple(m.what for m in d.members)
        for name, d in declared.items()
        if is_layer(d)
    }
    if not containers and not aliases and not plain:
        return []
    resolver = _Resolver(
        containers,
        aliases,
        {m.name: m for m in others},
        Layers(plain, entries_of, text.split("\n") if text else []),
    )
    return [*removed(aliases.values()), *resolver.changes()]


@dataclass
class _Resolver:
    containers: Mapping[str, tuple[Member, ...]]
    aliases: Mapping[str, ast.Assign]
    methods: Mapping[str, ast.FunctionDef]
    layers: Layers
    given: dict[str, dict[str, list[Place | None]]] = field(default_factory=dict)
    """What each method is given for its parameters."""

    def changes(self) -> list[Change]:
        # A method is given places that others have been given.
        made: list[Change] = []
        for _ in range(4):
            before = repr(self.given)
            made = [c for m in self.methods.values() for c in self._of(m)]
            if repr(self.given) == before:
                break
        return made

    def _of(self, method: ast.FunctionDef) -> list[Change]:
        walk = _Method(self, method, self.parameters(method.name))
        for statement in method.body:
            walk.visit(statement)
        return walk.found

    def parameters(self, name: str) -> dict[str, Place]:
        """The parameters of a method that are places, wherever it is called."""
        found = {}
        for parameter, places in self.given.get(name, {}).items():
            place = joined(places, parameter)
            if place is not None:
                found[parameter] = place
        return found


class _Method(Entering, ast.NodeVisitor):
    """Walks a method in the order of its text, with what its variables stand for."""

    def __init__(
        self,
        resolver: _Resolver,
        method: ast.FunctionDef,
        parameters: Mapping[str, Place],
    ) -> None:
        super().__init__(resolver.layers)
        self.resolver = resolver
        self.method = method
        self.variables: dict[str, Place] = dict(parameters)
        self.found: list[Change] = []
        names = {n.id for n in walk(method) if isinstance(n, ast.Name)}
        self.taken = names | {a.arg for a in walk(method) if isinstance(a, ast.arg)}

    def change(self, node: ast.AST, text: str) -> None:
        """Another text for a node."""
        start = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end = getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)
        self.found.append((start, end, text))

    def fresh(self, name: str) -> str:
        candidate, number = name, 2
        while candidate in self.taken:
            candidate, number = f"{name}_{number}", number + 1
        self.taken.add(candidate)
        return candidate

    # What expressions stand for

    def place(self, node: ast.expr) -> Place | None:
        name = self_attribute(node)
        if name in self.resolver.aliases:
            value = self.resolver.aliases[name or ""].value
            return self.place(value) or Place(self_attribute(value) or "")
        match node:
            case ast.Name(id=variable):
                return self.variables.get(variable)
            case ast.Attribute() if name in self.resolver.containers:
                return Place(name or "")
            case ast.Subscript(value=owner, slice=index) if not isinstance(
                index, ast.Slice
            ):
                outer = self.place(owner)
                inside = outer and self.members(outer)
                if outer is None or not inside or not container_of(inside):
                    return None
                step = step_of(index)
                step = replace(step, container=container_of(inside))
                if isinstance(step.key, int) and step.key < 0:
                    step = replace(step, key=None)
                return outer.item(step, self.text(index))
        return None

    def members(self, place: Place) -> list[Member]:
        return under(self.resolver.containers.get(place.name, ()), place.steps)

    def text(self, node: ast.expr) -> str:
        """The text of an expression, its variables resolved."""
        return unparsed(_Named(self).visit(ast.parse(unparsed(node), mode="eval")))

    # Loops

    def iterated(
        self, node: ast.expr, loop: Any = None, target: ast.expr | None = None
    ) -> tuple[Any, bool]:
        """What the items of an iterable stand for: a tree of functions of a variable's name; and change it.

        The second is whether there is any such item.
        """
        place = self.place(node)
        if place is not None:
            inside = self.members(place)
            match container_of(inside):
                case "list":
                    self.change(node, f"range(len({place.text}))")
                    return (lambda v: place.item(Step(LIST), v)), True
                case "dict":
                    self.change(node, place.text)
            return None, False
        match node:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="items" | "values" as how), args=[]
            ) if (place := self.place(owner)) and container_of(
                self.members(place)
            ) == DICT:
                item = lambda v: place.item(Step(DICT), v)  # noqa: E731
                if how == "values":
                    self.change(node, place.text)
                    return item, True
                if target is not None and (key := key_of(target, loop, self.method)):
                    self.change(node, place.text)
                    self.change(target, key)
                    return (None, lambda _: item(key)), True
                self.change(node, f"zip({place.text}, {place.text})")
                return (None, item), True
            case ast.Call(func=ast.Name(id="enumerate"), args=[first, *rest]):
                item, any_ = self.iterated(first)
                for other in (*rest, *(k.value for k in node.keywords)):
                    self.visit(other)
                return (None, item), any_
            case ast.Call(func=ast.Name(id="zip"), args=args):
                parts = [self.iterated(arg) for arg in args]
                return tuple(p for p, _ in parts), any(found for _, found in parts)
            case ast.Call(
                func=ast.Name(id="reversed" | "list" | "tuple" | "iter"), args=[inner]
            ):
                return self.iterated(inner)
            case ast.Subscript(value=owner, slice=ast.Slice() as index):
                item, found = self.iterated(owner)
                if found:
                    self.visit(index)
                    return item, True
                self.visit(node)
                return None, False
        self.visit(node)
        return None, False

    def bind(self, target: ast.expr, item: Any) -> None:
        """What the variables of a loop stand for."""
        place: Any = item
        made: Any = item if callable(item) else None
        match target, item:
            case ast.Name(id=name), None:
                self.variables.pop(name, None)
            case ast.Name(id=name), _ if made is not None:
                self.variables[name] = made(name)
            case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), tuple()):
                for part, inner in zip(targets, item, strict=False):
                    self.bind(part, inner)
            case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), _) if callable(
                item
            ):
                variable = self.fresh("place")
                outer = place(variable)
                if container_of(self.members(outer)) == LIST:
                    self.change(target, variable)
                    for number, part in enumerate(targets):
                        inner = outer.item(Step(LIST, number), str(number))
                        if isinstance(part, ast.Name):
                            self.variables[part.id] = inner
            case _:
                for part in walk(target):
                    if isinstance(part, ast.Name):
                        self.variables.pop(part.id, None)

    def visit_For(self, node: ast.For) -> None:
        item, _ = self.iterated(node.iter, node, node.target)
        self.bind(node.target, item)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def _comprehension(self, node: Any) -> None:
        outer = dict(self.variables)
        for generator in node.generators:
            item, _ = self.iterated(generator.iter, node, generator.target)
            self.bind(generator.target, item)
            for test in generator.ifs:
                self.visit(test)
        for name in ("key", "elt", "value"):
            if hasattr(node, name):
                self.visit(getattr(node, name))
        self.variables = outer

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, _COMPREHENSIONS):
            return self._comprehension(node)
        return super().visit(node)

    # Other uses

    def visit_Assign(self, node: ast.Assign) -> None:
        """Another name of a place is that place, and no statement."""
        target = node.targets[0]
        place = self.place(node.value)
        if len(node.targets) == 1 and place is not None and self.members(place):
            items = None
            match target:
                case ast.Name(id=name):
                    items = {name: place}
                case ast.Tuple(elts=parts) if (
                    all(isinstance(p, ast.Name) for p in parts)
                    and container_of(self.members(place)) == LIST
                ):
                    items = {
                        p.id: place.item(Step(LIST, i), str(i))
                        for i, p in enumerate(parts)
                        if isinstance(p, ast.Name)
                    }
            if items is not None:
                self.variables |= items
                self.change(node, "pass")
                return
        self.visit(node.value)
        for part in node.targets:
            self.visit(part)
            self.bind(part, None)

    def visit_Call(self, node: ast.Call) -> None:
        if self.enters(node):
            return
        called = self_attribute(node.func)
        method = self.resolver.methods.get(called or "")
        if method is None:
            self._handing(node)
            return
        static = [unparsed(d) for d in method.decorator_list] == ["staticmethod"]
        names = [a.arg for a in method.args.args][0 if static else 1 :]
        given = [*zip(names, node.args, strict=False)]
        given += [(k.arg or "", k.value) for k in node.keywords]
        known = self.resolver.given.setdefault(method.name, {})
        for name, value in given:
            place = self.place(value)
            layer = place if place is not None and self._is_layer(place) else None
            seen = known.setdefault(name, [])
            if layer not in seen:
                seen.append(layer)
            wanted = self.resolver.parameters(method.name).get(name)
            if layer is None or wanted is None:
                self.visit(value)
                continue
            places = [p for p in seen if p is not None]
            texts = [layer.texts[i] for i in open_steps(places)]
            text = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
            self.change(value, text if texts else "None")

    def _handing(self, node: ast.Call) -> None:
        """A call of what is no method of the class, which may be given layers as functions."""
        self.visit(node.func)
        asks = isinstance(node.func, ast.Name) and node.func.id in _ASKING
        for argument in (*node.args, *(k.value for k in node.keywords)):
            several = isinstance(argument, ast.List | ast.Tuple)
            for value in argument.elts if several else [argument]:
                if asks or not self.is_handed_on(value):
                    self.visit(value)

    def _is_layer(self, place: Place) -> bool:
        kinds = {m.what for m in self.members(place)}
        return bool(kinds - {None}) and place.name in self.resolver.containers

    def visit_Name(self, node: ast.Name) -> None:
        place = self.variables.get(node.id)
        if place is not None and isinstance(node.ctx, ast.Load):
            self.change(node, place.text)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self.is_entered(node):
            return
        name = self_attribute(node)
        if name in self.resolver.aliases:
            place = self.place(node)
            if place is not None:
                self.change(node, place.text)
            return
        self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node, [node.body])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node, node.body)

    def _function(
        self, node: ast.Lambda | ast.FunctionDef, body: Sequence[Any]
    ) -> None:
        outer = dict(self.variables)
        for arg in walk(node.args):
            if isinstance(arg, ast.arg):
                self.variables.pop(arg.arg, None)
        for part in body:
            self.visit(part)
        self.variables = outer


class _Named(ast.NodeTransformer):
    """Variables that stand for places, in the text of an index."""

    def __init__(self, method: _Method) -> None:
        self.method = method

    def visit_Name(self, node: ast.Name) -> ast.expr:
        place = self.method.variables.get(node.id)
        return node if place is None else ast.parse(place.text, mode="eval").body
