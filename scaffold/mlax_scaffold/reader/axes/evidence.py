"""Walks what a method does with its inputs, in the order of the text, and notes what that says of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.reader.axes import (
    columns,
    gathered,
    index_parts,
    indices,
    operations,
    products,
    ranks,
    scanned,
)
from mlax_scaffold.reader.axes.aliases import Alias, Names, given_or_made, other_end
from mlax_scaffold.reader.axes.calls import matched, parameters, splits_last
from mlax_scaffold.reader.axes.described import describe, described_part
from mlax_scaffold.reader.axes.joins import Joins
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.layers import (
    Layer,
    ends_in,
    keeps,
    layer_of,
    tell,
    tell_rank,
    words_of,
)
from mlax_scaffold.reader.axes.places import bound_by, place_of
from mlax_scaffold.reader.axes.reduced import Reduced
from mlax_scaffold.reader.axes.several import are_each_with_each, are_rows, tell_apart
from mlax_scaffold.reader.axes.sizes import Scope, counts_among
from mlax_scaffold.reader.axes.sums import Sums
from mlax_scaffold.reader.source import self_attribute

_DEPTH = 4
"""So many methods and functions are followed, one from the other."""


@dataclass
class Evidence:
    """What the methods of a class, or a function, say of their inputs."""

    scope: Scope
    depth: int = 0
    names: Names = field(default_factory=dict)
    shapes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Locals that are computed of weights, with their shapes."""
    inside: dict[str, ast.FunctionDef] = field(default_factory=dict)
    """The functions in the method."""
    said: str = ""
    """What comments and the docstring of the method say."""
    places: dict[str, ast.expr] = field(default_factory=dict)
    """Names that stand for layers, or for containers of them."""
    sums: Sums = field(default_factory=Sums)
    reduced: Reduced = field(default_factory=Reduced)
    joins: Joins = field(default_factory=Joins)
    handed: list[tuple[Layer, str, str, ast.Call]] = field(default_factory=list)
    """Inputs that layers are given as they are: the layer, its parameter, the name of the input, the call."""

    def of(self, function: ast.FunctionDef) -> dict[str, Known]:
        """The inputs of a method or a function, by name."""
        found = {a.arg: Known(a.arg) for a in parameters(function)}
        fields = {*self.scope.fields, *counts_among(function.args)}
        for name, known in found.items():
            describe(known, name, self.said, fields)
        self.names = {name: Alias(known) for name, known in found.items()}
        gathered.tell(function, found, self.scope)
        columns.tell(function, found)
        told = ranks.tell(function, found, self.scope)
        self._body(function.body)
        self.joins.settle()
        ranks.beside(function, found, self.scope)
        ranks.joined(function, found)
        scanned.lead(function, found, {*fields, *found})
        ranks.name(function, told, [*found.values()])
        for known in found.values():
            known.settle()
            if known.stretched and known.like is None:
                known.follows(next(iter(found.values())), 1)
        tell_apart(function, found.values(), self.scope.fields)
        return found

    def _body(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef):
            self.inside[statement.name] = statement
            self._inside(parameters(statement), statement.body)
            return
        for value in ast.iter_child_nodes(statement):
            if isinstance(value, ast.expr):
                self._expression(value)
        match statement:
            case ast.Assign(targets=[target], value=value):
                self._bind(target, value)
            case _:
                if isinstance(statement, ast.For):
                    self._beside_members(statement.iter)
                    over = statement.target, statement.iter
                    self.places |= bound_by(*over, self.places)
                given = given_or_made(statement, self.names)
                for name in ("body", "orelse"):
                    self._body(getattr(statement, name, []))
                self.names |= given

    def _inside(self, hidden: Iterable[ast.arg], body: Iterable[ast.stmt]) -> None:
        """A function in the method, whose parameters are others."""
        before = dict(self.names)
        for arg in hidden:
            self.names.pop(arg.arg, None)
        self._body(body)
        self.names = before

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=names), ast.Tuple(elts=values):
                if len(names) == len(values):
                    for name, one in zip(names, values, strict=True):
                        self._bind(name, one)
            case ast.Tuple(elts=names), ast.Attribute(value=owner, attr="shape"):
                if alias := self.alias(owner):
                    operations.unpacked(alias.known, names, self.scope)
            case ast.Tuple(elts=names), ast.Name(id=given) if given in self.names:
                known = self.names[given].known
                if all(isinstance(n, ast.Name) for n in names):
                    made = [Known(n.id) for n in names if isinstance(n, ast.Name)]
                    if known.least:
                        known.rows += made
                    else:
                        known.items = known.items or made
                    pairs = zip(made, known.items or made, strict=False)
                    self.names |= {own.name: Alias(item) for own, item in pairs}
            case ast.Name(id=name), _:
                if place := place_of(value, self.places):
                    self.places[name] = place
                self.sums.bind(name, value)
                self.joins.bind(name, value, self.alias)
                self.reduced.bind(name, value, self.alias)
                alias = self.alias(value)
                self.names.pop(name, None)
                if alias is not None:
                    self.names[name] = alias
                elif shape := self.shape(value):
                    self.shapes[name] = shape
            case ast.Tuple(elts=names), ast.Tuple(elts=values):
                for part, own in zip(names, values, strict=False):
                    self._bind(part, own)
            case ast.Tuple(elts=names), _:
                alias = self.alias(value) if splits_last(value) else None
                for part in names:
                    if isinstance(part, ast.Name):
                        self.names.pop(part.id, None)
                        if alias is not None:
                            self.names[part.id] = alias

    def shape(self, node: ast.expr) -> tuple[str, ...] | None:
        """The shape of what is computed of weights, where it is plain."""
        return operations.shape_of(node, self.shapes, self.scope)

    def alias(self, node: ast.expr) -> Alias | None:
        """The input that an expression has the shape of."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Subscript(value=owner, slice=ast.Constant(value=str(key))):
                said = self.said, self.scope.fields
                found = self.alias(owner)
                return found and Alias(described_part(found.known, key, *said))
            case ast.BinOp(left=left, op=ast.MatMult()):
                return other_end(self.alias(left))
            case ast.BinOp(left=left, right=right):
                return self.alias(left) or self.alias(right)
            case ast.UnaryOp(operand=inner):
                return self.alias(inner)
            case ast.IfExp(body=one, orelse=other):
                return self.alias(one) or self.alias(other)
            case ast.Call(func=ast.Attribute(value=owner, attr="astype")):
                return self.alias(owner)
            case ast.Subscript(value=owner, slice=ast.Tuple(elts=parts)):
                found, more = self.alias(owner), index_parts.added_at_end(parts)
                if index_parts.is_part_of_last(parts):
                    return other_end(found)
                return found.ended(more) if found and more else None
            case ast.Call(
                args=[ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]), *_]
            ):
                found = self.alias(first)
                longer = found and operations.lengthened(node, found.known)
                return other_end(found) if longer else None
            case ast.Call(func=function, args=[first, *_]):
                layer = self._layer(function)
                found = self.alias(first)
                if found is None:
                    return None
                if layer is not None:
                    more, whole = keeps(layer) or (None, False)
                    if more is None:
                        return None
                    last = ends_in(self.scope, layer)
                    return (
                        found if whole else other_end(found, found.extra + more, last)
                    )
                if operations.by_element(function):
                    return found
                return other_end(found) if splits_last(node) else None
        return None

    def _expression(self, node: ast.expr) -> None:
        match node:
            case ast.Lambda(args=inner, body=body):
                self._inside([*inner.args, *inner.kwonlyargs], [ast.Expr(body)])
                return
            case ast.Call():
                operations.cast(node, self.alias)
                if sides := products.factors(node):
                    self._pair(*sides, product=True)
                self.sums.tell(node, self.alias)
                self.joins.tell(node, self.alias, self.scope)
                self._call(node)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr(), right=right):
                operations.are_logical((left, right), self.alias)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                operations.are_logical((operand,), self.alias)
            case ast.Compare(
                left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[one]
            ):
                operations.are_compared(left, one, self.alias)
            case ast.Compare(left=left, comparators=[one]):
                operations.are_counted(left, one, self.alias, self.sums.are_places)
            case ast.BinOp(left=left, op=op, right=right):
                self._pair(left, right, isinstance(op, ast.MatMult))
            case ast.Subscript(slice=ast.Constant(value=str())):
                self.alias(node)
            case ast.Subscript(value=owner, slice=index):
                indices.tell(owner, index, self.alias, self.reduced.of, self.scope)
        for loop in getattr(node, "generators", []):
            match loop:
                case ast.comprehension(target=target, iter=ast.Tuple(elts=[one, *_])):
                    self._bind(target, one)
                case ast.comprehension(target=target, iter=over):
                    self.places |= bound_by(target, over, self.places)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self._expression(part)
            elif isinstance(part, ast.keyword):
                self._expression(part.value)
            elif isinstance(part, ast.comprehension):
                self._beside_members(part.iter)
                self._expression(part.iter)

    def _beside_members(self, node: ast.expr) -> None:
        """`zip(self.layers, x)`: as many arrays as there are layers."""
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=parts) if any(
                map(self_attribute, parts)
            ):
                for part in parts:
                    if isinstance(part, ast.Name) and part.id in self.names:
                        self.names[part.id].known.several = True

    def _pair(self, left: ast.expr, right: ast.expr, product: bool) -> None:
        """What stands on both sides of an operator, where one is a weight."""
        if product:
            products.multiplied(self.alias(left), self.alias(right), self.shape(right))
            operations.are_matrices(left, right, self.alias)
            return
        for side in (left, right):
            if computed := self.alias(side):
                computed.known.computed = True
        self._added(left, right)
        self._added(right, left)
        if rows := index_parts.in_pairs(left, right):
            are_rows([alias for row in rows if (alias := self.alias(row))])
            return
        if are_each_with_each(left, right, self.alias):
            return
        sides = self.alias(left), self.alias(right)
        for one, alias in ((left, sides[1]), (right, sides[0])):
            shape = self.shape(one)
            if alias is not None and index_parts.expanded(one):
                alias.known.at(index_parts.expanded(one) - 1 - alias.extra)
            if shape and alias and alias.whole and not alias.extra:
                for i, size in enumerate(reversed(shape)):
                    alias.known.call(-1 - i, "" if size == "1" else size)
                return
        first, second = sides
        if first and second:
            whole = first.whole == second.whole or first.extra != second.extra
            # `x * y[..., None]`: x has the axis that is new.
            for one, other in ((first, second), (second, first)):
                if not one.extra and other.extra > 0 and not other.known.told:
                    one.known.from_end(-other.extra)
            second.known.follows(first.known, second.extra - first.extra, whole)
            first.known.follows(second.known, first.extra - second.extra, whole)

    def _added(self, one: ast.expr, other: ast.expr) -> None:
        """An input beside what a layer makes, as in `x + self.layer(y)`: both end in the same axis."""
        match one, other:
            case ast.Name(), ast.Call(func=function):
                layer, alias = self._layer(function), self.alias(one)
                size = layer and ends_in(self.scope, layer)
                if size and alias and alias.whole and not alias.extra:
                    alias.known.call(-1, size)

    def _layer(self, node: ast.expr) -> Layer | None:
        """The layer that an expression stands for, or makes."""
        made = isinstance(node, ast.Call)
        place = node if made else place_of(node, self.places)
        return place and layer_of(self.scope, place)

    def _call(self, node: ast.Call) -> None:
        layer = self._layer(node.func)
        if layer is not None and layer.forward is not None:
            taken = list(parameters(layer.forward))
            inner: Mapping[str, Known] = {}
            if any(p.annotation is None for p in taken):
                inner = self._followed(Scope(layer.module, layer.node), layer.forward)
            for parameter, given in matched(taken, node):
                annotation = parameter.annotation
                if annotation is None and parameter.arg in inner:
                    text = inner[parameter.arg].annotation(())
                    annotation = ast.parse(text, mode="eval").body
                if join := self.joins.of(given, self.alias):
                    self.joins.given(join, words_of(self.scope, layer, annotation))
                    continue
                alias = self.alias(given)
                if alias is None or alias.extra < 0:
                    continue
                if not alias.extra and alias.whole:
                    self.handed.append((layer, parameter.arg, alias.known.name, node))
                if annotation is not None:
                    if alias.extra or alias.whole:
                        tell(self.scope, layer, annotation, alias.known, alias.extra)
                    else:
                        tell_rank(self.scope, layer, annotation, alias)
            return
        if own := self.scope.called(node.func):
            self._enter(own, node)
            return
        self._scan(node)
        for alias, note in operations.called(node, self.alias, self.scope):
            note(alias.known)
        operations.einsum(node, self.alias, self.shape)

    def _scan(self, node: ast.Call) -> None:
        """What a step of a scan says of the arrays that it is given the elements of."""
        found = scanned.elements(node, self.inside)
        if found is None or self.depth >= _DEPTH:
            return
        step, arrays = found
        given = {name: self.alias(array) for name, array in arrays.items()}
        inner = Evidence(self.scope, self.depth + 1)
        parts = {name: Known(name) for name, alias in given.items() if alias}
        inner.names = {name: Alias(known) for name, known in parts.items()}
        # The names stand for the elements from where they are bound.
        inner._body(s for s in step.body if not scanned.binds(s, parts))
        for name, known in parts.items():
            if alias := given[name]:
                scanned.note(alias.known, known)

    def _enter(self, function: ast.FunctionDef, call: ast.Call) -> None:
        """What a method or a function that is called says of what it is given."""
        if self.depth >= _DEPTH:
            return
        inner = Evidence(self.scope, self.depth + 1)
        pairs = [*matched(list(parameters(function)), call)]
        inner.names = {
            parameter.arg: alias
            for parameter, given in pairs
            if (alias := self.alias(given)) is not None
        }
        inner.places = {
            parameter.arg: place
            for parameter, given in pairs
            if (place := place_of(given, self.places)) is not None
        }
        said = ast.get_docstring(function) or ""
        for name, alias in inner.names.items():
            if not alias.extra:
                fields = self.scope.fields
                describe(alias.known, name, said, fields, whole=alias.whole)
        whole = {n: a.known for n, a in inner.names.items() if a.whole and not a.extra}
        ranks.tell(function, whole, self.scope)
        inner._body(function.body)

    def _followed(self, scope: Scope, function: ast.FunctionDef) -> dict[str, Known]:
        if self.depth >= _DEPTH:
            return {}
        return Evidence(scope, self.depth + 1).of(function)
