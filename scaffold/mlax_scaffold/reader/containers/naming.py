"""Other names of layers and of places: `norm = self.norm`, `a, b = self.layers`, `(norm := self.norm)`.

Such a name is read as what it stands for. Where branches or passes of a loop give it one place or another
of a container, it holds the index, or the key: `layer = 0 if self.shared else i`, and `self.layers[layer]`.
That of an array is a value: a state that is set later is another one.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from mlax_scaffold.reader.containers.entries import Layers
from mlax_scaffold.reader.containers.iterating import Iterating
from mlax_scaffold.reader.containers.place import Given, Place, index_of, joined
from mlax_scaffold.reader.containers.reaching import Reaching
from mlax_scaffold.reader.containers.uses import ARRAYS
from mlax_scaffold.reader.source import self_attribute


class Naming(Iterating, ast.NodeVisitor):
    """The part of a walk over a method that reads them."""

    def __init__(
        self,
        layers: Layers,
        method: ast.FunctionDef,
        bound: MutableMapping[str, Given],
    ) -> None:
        super().__init__(layers, method)
        self.reaching = Reaching(method)
        self.given = {a.arg for a in method.args.args}
        """The parameters of the method, which hold what it is called with."""
        self.bound = bound
        """The places of names that hold indices, as far as earlier walks and this one have found."""
        for name in bound:
            self._know(name)

    def is_array(self, place: Place) -> bool:
        """Whether a place is that of an array, which is a value, and no container."""
        inside = self.members(place)
        kinds = {getattr(m.what, "value", m.what) for m in inside} or {None}
        return not any(m.steps for m in inside) and kinds <= ARRAYS

    def visit_Assign(self, node: ast.Assign) -> None:
        """Another name of a place is that place, and no statement; one of an array is its value."""
        if len(node.targets) == 1 and self._names_places(node):
            return
        self._value(node.value)
        for part in node.targets:
            self.visit(part)
            self.bind(part, None)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Another name of a layer, given in an expression, is that layer."""
        place = self._named(node, [node.target], [node.value])
        if not place:
            self.generic_visit(node)
            return
        self.variables |= place
        self.change(node, place[node.target.id].text)

    def bind(self, target: ast.expr, item: Any) -> None:
        """What the variables of a loop stand for, also where its passes give them another place."""
        super().bind(target, item)
        for part in self.reaching.stored_in(target):
            place = self.variables.get(part.id)
            if place is None or len(self.reaching.stores(part.id)) == 1:
                continue
            if not self._are_read_there(part, {part.id: place}):
                own = place.texts[-1:] == (part.id,)
                self._bind(part, place if own else None)
                if self._open(part.id) != [len(place.texts) - 1]:
                    self._bind(part, None)

    def _names_places(self, node: ast.Assign) -> bool:
        """Whether an assignment gives places other names; it is changed then."""
        target = node.targets[0]
        place = self.place(node.value)
        items = self._items(target, place)
        values = {n: p for n, p in items.items() if self.is_array(p)}
        others = {n: p for n, p in items.items() if n not in values}
        if others and self._are_read_there(node, others):
            written = "; ".join(f"{n} = {p.text}" for n, p in values.items())
            self.change(node, written or "pass")
            self.variables |= others
            for name in values:
                self.variables.pop(name, None)
            return True
        both = (target, node.value)
        row = all(isinstance(part, ast.Tuple) for part in both)
        parts = [p.elts if row else [p] for p in both]  # type: ignore[attr-defined]
        if named := self._named(node, parts[0], parts[1]):
            self.variables |= named
            self.change(node, "pass")
            return True
        return self._hold_indices(parts[0], parts[1])

    def _hold_indices(
        self, targets: Sequence[ast.expr], values: Sequence[ast.expr]
    ) -> bool:
        """Whether names can hold the indices of the places that they are given; they do then."""
        found: list[tuple[ast.Name, ast.expr, Place]] = []
        for target, value in zip(targets, values, strict=False):
            place = self.place(value)
            if (
                isinstance(target, ast.Name)
                and place is not None
                and self.members(place)
                and not self.is_array(place)
            ):
                self._bind(target, place)
                found.append((target, value, place))
        known = all(target.id in self.variables for target, _, _ in found)
        if not known or not len(found) == len(targets) == len(values):
            return False
        for target, value, place in found:
            self.change(value, index_of(place, self._open(target.id)))
        return True

    def _items(self, target: ast.expr, place: Place | None) -> dict[str, Place]:
        """What the names of a target stand for, where their value is a place."""
        if place is None or not self.members(place):
            return {}
        if isinstance(target, ast.Name):
            return {target.id: place}
        return self.taken_apart(target, place)

    def _value(self, node: ast.expr) -> None:
        """A layer that is given a name which may stand for others, too, is a function."""
        match node:
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                self.visit(test)
                self._value(body)
                self._value(otherwise)
            case ast.Tuple(elts=parts):
                for part in parts:
                    self._value(part)
            case _ if not self.is_handed_on(node):
                self.visit(node)

    def _named(
        self, node: ast.AST, targets: Sequence[ast.expr], values: Sequence[ast.expr]
    ) -> dict[str, Place]:
        """The layers that names stand for everywhere in a method; nothing where one of them does not."""
        found = {}
        for target, value in zip(targets, values, strict=False):
            place, attribute = self.place(value), self_attribute(value)
            if place is None and attribute in self.layers.plain:
                place = Place(attribute or "")
            if (
                isinstance(target, ast.Name)
                and place is not None
                and not self.is_array(place)
            ):
                found[target.id] = place
        once = all(len(self.reaching.stores(name)) == 1 for name in found)
        known = once and len(found) == len(targets) == len(values)
        varying = {n: p for n, p in found.items() if p.names}
        return found if known and self._are_read_there(node, varying) else {}

    def _are_read_there(self, node: ast.AST, places: Mapping[str, Place]) -> bool:
        """Whether each name may be read as the place that a node gives it."""
        return all(
            not place.chosen and self.reaching.is_read_there(node, name, place.names)
            for name, place in places.items()
        )

    # Names that hold indices

    def _bind(self, target: ast.Name, place: Place | None) -> None:
        given = self.bound.setdefault(target.id, {})
        given[target.lineno, target.col_offset] = place
        self._know(target.id)

    def _know(self, name: str) -> None:
        """What a name stands for that holds an index, wherever it is read."""
        places = [*self.bound[name].values()]
        place = None
        count = len(self.reaching.stores(name))
        if len(places) == count and name not in self.given:
            place = joined(places, name, self._open(name))
        self.variables.pop(name, None)
        if place is not None:
            self.variables[name] = place

    def _open(self, name: str) -> list[int]:
        """The steps of the places of a name that it holds the indices of."""
        places = [p for p in self.bound.get(name, {}).values() if p is not None]
        count = min((len(p.steps) for p in places), default=0)
        return [
            i
            for i in range(count)
            if len({p.texts[i] for p in places}) > 1
            or any(i in p.chosen for p in places)
            or not all(self.reaching.is_fixed(n, name) for n in places[0].named(i))
        ]
