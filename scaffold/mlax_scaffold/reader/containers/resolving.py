"""Methods in terms of places: a variable that stands for a layer holds its index or key instead.

`for layer in self.layers: x = layer(x)` is read as
`for layer in range(len(self.layers)): x = self.layers[layer](x)`, so that all that follows knows which
weights and which state a call has, however it came to the layer. Each line stays where it is.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlax_scaffold.model.places import Member, container_of, under
from mlax_scaffold.model.resolved import Change
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.changing import CHANGING, changes_items, items_of
from mlax_scaffold.reader.containers.asking import asked
from mlax_scaffold.reader.containers.declared import (
    Form,
    KindOf,
    declared_in,
    step_of,
)
from mlax_scaffold.reader.containers.entries import EntriesOf, Layers
from mlax_scaffold.reader.containers.naming import Naming
from mlax_scaffold.reader.containers.place import (
    Given,
    Place,
    either,
    index_of,
    joined,
    open_steps,
)
from mlax_scaffold.reader.containers.uses import (
    aliases_of,
    holds_layers,
    is_layer,
    is_optional_weight,
    removed,
    used_otherwise,
)
from mlax_scaffold.reader.source import (
    defaults_of,
    indexed_attribute,
    self_attribute,
)

_ASKING = frozenset(("isinstance", "len", "type", "hasattr", "getattr", "callable"))
"""What calls no function that it is given."""


def resolve_class(
    node: ast.ClassDef,
    kind_of: KindOf,
    entries_of: EntriesOf = lambda kind: {},
    text: str = "",
    changing: Collection[str] = (),
) -> list[Change]:
    """What to change in the text of a class, so that no variable is a layer of a container.

    Args:
        node: the class.
        kind_of: what a call declares.
        entries_of: the entry points of what is declared.
        text: of the module.
        changing: the functions beside the class that change items of what they are given.
    """
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    setup = next((m for m in methods if m.name == "setup"), None)
    if setup is None:
        return []
    declared = declared_in(setup, kind_of)
    aliases = aliases_of(setup, declared)
    others = [m for m in methods if m is not setup]
    # Whatever has another name for what is in it is read by its places.
    named_in = {indexed_attribute(a.value) or "" for a in aliases.values()}
    containers = {
        name: tuple(d.members)
        for name, d in declared.items()
        if holds_layers(d)
        and (d.form is Form.TREE or name in named_in or used_otherwise(name, d, others))
    }
    plain = {
        name: tuple(m.what for m in d.members)
        for name, d in declared.items()
        if is_layer(d)
    }
    layers = Layers(plain, entries_of, text.split("\n") if text else [])
    named = {m.name: m for m in others}
    of_arrays = {
        name: tuple(d.members)
        for name, d in declared.items()
        if d.holds and not holds_layers(d)
    }
    containers |= {n: of_arrays[n] for n in named_in & {*of_arrays}}
    if of_arrays and (changing or any(map(changes_items, others))):
        tried = _Resolver(
            {**containers, **of_arrays}, aliases, named, layers, changing=changing
        )
        tried.changes()
        containers |= {n: of_arrays[n] for n in tried.set & {*of_arrays}}
    rows = frozenset(n for n, d in declared.items() if holds_layers(d)) - {*containers}
    optional = {name for name, d in declared.items() if is_optional_weight(d)}
    if optional:
        optional &= {self_attribute(test) or "" for m in others for test in asked(m)}
    if not (containers or aliases or plain or rows or optional):
        return []
    resolver = _Resolver(
        containers, aliases, named, layers, rows=rows, optional=optional
    )
    return [*removed(aliases.values()), *resolver.changes()]


@dataclass
class _Resolver:
    containers: Mapping[str, tuple[Member, ...]]
    aliases: Mapping[str, ast.Assign]
    methods: Mapping[str, ast.FunctionDef]
    layers: Layers
    given: dict[str, dict[str, Given]] = field(default_factory=dict)
    """What each method is given for its parameters."""
    bound: dict[str, dict[str, Given]] = field(default_factory=dict)
    """What the names of each method are given that hold indices of places."""
    rows: frozenset[str] = frozenset()
    """The lists of layers that are read as they are."""
    optional: Collection[str] = ()
    """The weights that may be None."""
    changing: Collection[str] = ()
    """The functions beside the class that change items of what they are given."""
    set: set[str] = field(default_factory=set)
    """The containers an item of which is changed by a variable that stands for a place of them."""

    def changes(self) -> list[Change]:
        # A method is given places that others have been given.
        made: list[Change] = []
        for _ in range(4):
            before = repr((self.given, self.bound))
            made = [c for m in self.methods.values() for c in self._of(m)]
            if repr((self.given, self.bound)) == before:
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
            place = joined([*places.values()], parameter)
            if place is not None:
                found[parameter] = place
        return found


class _Method(Naming, ast.NodeVisitor):
    """Walks a method in the order of its text, with what its variables stand for."""

    def __init__(
        self,
        resolver: _Resolver,
        method: ast.FunctionDef,
        parameters: Mapping[str, Place],
    ) -> None:
        bound = resolver.bound.setdefault(method.name, {})
        super().__init__(resolver.layers, method, bound)
        self.resolver = resolver
        self.variables |= parameters
        self.asked = {id(node) for node in asked(method)}
        self.found: list[Change] = []

    def change(self, node: ast.AST, text: str) -> None:
        """Another text for a node."""
        start = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end = getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)
        self.found.append((start, end, text))

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
                # Under a condition, it may be a layer itself.
                inside = [m for m in self.members(outer) if m.steps] if outer else []
                if outer is None or not container_of(inside):
                    return None
                step = step_of(index)
                step = replace(step, container=container_of(inside))
                if isinstance(step.key, int) and step.key < 0:
                    step = replace(step, key=None)
                return outer.item(step, self.text(index))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                both = self.place(body), self.place(otherwise)
                calls = any(isinstance(n, ast.Call) for n in ast.walk(test))
                return None if calls else either(self.text(test), *both)
        return None

    def members(self, place: Place) -> list[Member]:
        return under(self.resolver.containers.get(place.name, ()), place.steps)

    def text(self, node: ast.expr) -> str:
        """The text of an expression, its variables resolved."""
        return unparsed(_Named(self).visit(ast.parse(unparsed(node), mode="eval")))

    # Other uses

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.UnaryOp) and id(node.operand) in self.asked:
            text = self._asks(node.operand)
            if text.endswith(" is not None"):
                return self.change(node, text.replace(" is not None", " is None"))
        if id(node) in self.asked and isinstance(node, ast.expr):
            text = self._asks(node)
            if text:
                return self.change(node, text)
        return super().visit(node)

    def _asks(self, node: ast.expr) -> str:
        """What asks whether a layer is there, or a list has any; nothing of what is none."""
        place, name = self.place(node), self_attribute(node) or ""
        if place is not None:
            inside = self.members(place)
            if container_of(inside):
                return f"len({place.text})"
            layer = inside and not any(m.steps for m in inside)
            known = layer and not self.is_array(place)
            return f"{place.text} is not None" if known else ""
        if name in self.resolver.rows:
            return f"len(self.{name})"
        there = name in self.layers.plain or name in self.resolver.optional
        return f"self.{name} is not None" if there else ""

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """One layer of a container or another one, as a value, is that at one index or another."""
        place = self.place(node)
        if place is None or self.is_array(place):
            self.generic_visit(node)
        else:
            self.change(node, place.text)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """What a variable sets an item of is a place, where it stands for one."""
        if isinstance(node.ctx, ast.Store):
            self._touched(node.value)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """`book.update(count=value)` sets items of a place, as assignments do."""
        match node.value:
            case ast.Call(func=ast.Attribute(value=owner, attr="update")) as call:
                place, pairs = self.place(owner), items_of(call)
                if place is not None and pairs:
                    self.resolver.set.add(place.name)
                    targets = [f"{place.text}[{unparsed(key)}]" for key, _ in pairs]
                    self._between([", ".join(targets) + " = "], call, pairs)
                    return
        self.generic_visit(node)

    def _between(
        self,
        first: list[str],
        call: ast.Call,
        pairs: Sequence[tuple[ast.expr, ast.expr]],
    ) -> None:
        """Other texts before, between and behind values, which stay where they are."""
        ends = [(call.lineno, call.col_offset)]
        ends += [(v.end_lineno or 1, v.end_col_offset or 0) for _, v in pairs]
        starts = [(v.lineno, v.col_offset) for _, v in pairs]
        starts.append((call.end_lineno or 1, call.end_col_offset or 0))
        texts = [*first, *[", "] * (len(pairs) - 1), ""]
        self.found += zip(ends, starts, texts, strict=True)
        for _, value in pairs:
            self.visit(value)

    def _touched(self, node: ast.expr) -> None:
        place = None if self_attribute(node) else self.place(node)
        if place is not None:
            self.resolver.set.add(place.name)

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
            seen = known.setdefault(name, {})
            seen[value.lineno, value.col_offset] = layer
            wanted = self.resolver.parameters(method.name).get(name)
            if layer is None or wanted is None:
                self.visit(value)
                continue
            places = [p for p in seen.values() if p is not None]
            self.change(value, index_of(layer, open_steps(places)))

    def _handing(self, node: ast.Call) -> None:
        """A call of what is no method of the class, which may be given layers as functions."""
        match node.func:
            case ast.Attribute(value=owner, attr=how) if how in CHANGING:
                self._touched(owner)
            case ast.Name(id=name) if name in self.resolver.changing:
                for part in node.args:
                    self._touched(part)
        self.visit(node.func)
        asks = isinstance(node.func, ast.Name) and node.func.id in _ASKING
        for argument in (*node.args, *(k.value for k in node.keywords)):
            several = isinstance(argument, ast.List | ast.Tuple)
            for value in argument.elts if several else [argument]:
                if asks or not self.is_handed_on(value):
                    self.visit(value)

    def _is_layer(self, place: Place) -> bool:
        kinds = {m.what for m in self.members(place)}
        known = bool(kinds - {None}) and place.name in self.resolver.containers
        return known and not self.is_array(place)

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
        held = [self._held(*pair) for pair in defaults_of(node.args)]
        for arg in walk(node.args):
            if isinstance(arg, ast.arg):
                self.variables.pop(arg.arg, None)
        for place in held:
            self.variables |= place
        for part in body:
            self.visit(part)
        self.variables = outer

    def _held(self, arg: ast.arg, value: ast.expr) -> dict[str, Place]:
        """The layer that a parameter holds from where its function is: `lambda x, layer=layer: layer(x)`."""
        place = self.place(value)
        open_ = [i for i in range(len(place.texts)) if place.named(i)] if place else []
        if place is None or not self._is_layer(place) or len(open_) != 1:
            self.visit(value)
            return {}
        # What is held is its index.
        [step] = open_
        self.change(value, place.texts[step])
        return {arg.arg: place.at(step, arg.arg)}


class _Named(ast.NodeTransformer):
    """Variables that stand for places, in the text of an index."""

    def __init__(self, method: _Method) -> None:
        self.method = method

    def visit_Name(self, node: ast.Name) -> ast.expr:
        place = self.method.variables.get(node.id)
        return node if place is None else ast.parse(place.text, mode="eval").body
