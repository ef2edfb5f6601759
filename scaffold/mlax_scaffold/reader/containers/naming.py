"""Other names of layers and of places: `norm = self.norm`, `a, b = self.layers`, `(norm := self.norm)`.

Such a name is read as what it stands for, where it is bound once. That of an array is a value: a state
that is set later is another one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.model.places import LIST, Step, container_of
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.containers.iterating import Iterating
from mlax_scaffold.reader.containers.place import Place
from mlax_scaffold.reader.containers.uses import ARRAYS
from mlax_scaffold.reader.source import self_attribute


class Naming(Iterating, ast.NodeVisitor):
    """The part of a walk over a method that reads them."""

    def is_array(self, place: Place) -> bool:
        """Whether a place is that of an array, which is a value, and no container."""
        inside = self.members(place)
        kinds = {getattr(m.what, "value", m.what) for m in inside} or {None}
        return not any(m.steps for m in inside) and kinds <= ARRAYS

    def visit_Assign(self, node: ast.Assign) -> None:
        """Another name of a place is that place, and no statement; one of an array is its value."""
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
            values = {n: p for n, p in (items or {}).items() if self.is_array(p)}
            if items is not None and len(values) < len(items):
                self.change(
                    node,
                    "; ".join(f"{n} = {p.text}" for n, p in values.items()) or "pass",
                )
                self.variables |= items
                for name in values:
                    self.variables.pop(name)
                return
        if len(node.targets) == 1:
            both = (target, node.value)
            row = all(isinstance(part, ast.Tuple) for part in both)
            parts = [p.elts if row else [p] for p in both]  # type: ignore[attr-defined]
            if named := self._named(parts[0], parts[1]):
                self.variables |= named
                self.change(node, "pass")
                return
        self.visit(node.value)
        for part in node.targets:
            self.visit(part)
            self.bind(part, None)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Another name of a layer, given in an expression, is that layer."""
        place = self._named([node.target], [node.value])
        if not place:
            self.generic_visit(node)
            return
        self.variables |= place
        self.change(node, place[node.target.id].text)

    def _named(
        self, targets: Sequence[ast.expr], values: Sequence[ast.expr]
    ) -> dict[str, Place]:
        """The layers that names stand for everywhere in a method; nothing where one of them does not."""
        names = [n.id for n in targets if isinstance(n, ast.Name)]
        stored = [n for n in walk(self.method) if isinstance(n, ast.Name)]
        bound = [n.id for n in stored if isinstance(n.ctx, ast.Store)]
        found = {}
        for name, value in zip(names, values, strict=False):
            place, attribute = self.place(value), self_attribute(value)
            if place is None and attribute in self.layers.plain:
                place = Place(attribute or "")
            if place is not None and not self.is_array(place):
                found[name] = place
        once = all(bound.count(name) == 1 for name in found)
        return found if once and len(found) == len(targets) == len(values) else {}
