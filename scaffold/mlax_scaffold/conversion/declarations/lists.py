"""Lists of layers that a constructor makes: in comprehensions, or one by one in loops."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection
from dataclasses import replace

from mlax_scaffold.conversion.declarations.building import Attribute, Builder
from mlax_scaffold.conversion.declarations.filled_lists import FilledLists, where
from mlax_scaffold.conversion.declarations.list_loops import Item, ListLoops, Loop
from mlax_scaffold.conversion.declarations.modules import (
    Modules,
    applied_to,
    chained,
    is_layer,
)
from mlax_scaffold.conversion.lists.key_loops import number_of_keys, splits
from mlax_scaffold.conversion.source.trees import (
    both,
    expression,
    folded,
    is_name,
    literal,
    name,
    names,
    self_attribute,
    statement,
    targets,
)
from mlax_scaffold.conversion.source.vocabulary import LISTS, SEQUENTIAL
from mlax_scaffold.conversion.source.walking import cloned


class Lists(FilledLists, ListLoops):
    """Reads lists of layers."""

    def __init__(self, builder: Builder, modules: Modules):
        self.builder, self.modules = builder, modules
        self.translator = builder.translator
        self.keys: dict[str, ast.expr] = {}
        """Locals that hold several keys, and their number."""
        self.building: dict[str, list[Item]] = {}
        """Locals, and attributes as `self.name`, that hold layers."""
        self.candidates: set[str] = set()
        self.positions: dict[str, int] = {}
        """How much of setup stands before what was last appended to each."""
        self.sized: dict[int, ast.stmt] = {}
        self.begun_with: dict[tuple[int, str], str] = {}
        self.body: list[ast.stmt] = []

    # What lists become.

    def finished(
        self, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> bool:
        """Whether a value is a list of layers, and is declared under the name."""
        place = f"self.{attribute}"
        if place in self.candidates and self._inner(value) is not None:
            self._begin(place, self._inner(value) or [], condition)
            self._later(attribute, place)
            return True
        sequence = (
            isinstance(value, ast.Call) and self.modules.qualified(value) in SEQUENTIAL
        )
        given = value
        if isinstance(value, ast.Call) and (
            sequence
            or self.modules.qualified(value) in LISTS
            or is_name(value.func, "list")
            or is_name(value.func, "tuple")
        ):
            if len(value.args) != 1:
                return False
            given = value.args[0]
            given = given.value if isinstance(given, ast.Starred) else given
        if isinstance(given, ast.Name) and given.id in self.building:
            self._in_place(attribute, given.id, condition, called=sequence)
            return True
        if isinstance(given, ast.ListComp | ast.GeneratorExp):
            if not self.modules.is_module(given.elt):
                return False
            self._comprehension(attribute, given, condition, called=sequence)
            return True
        if sequence:
            return False
        inner = given.elts if isinstance(given, ast.List | ast.Tuple) else []
        if (
            inner
            and all(self._element(i) for i in inner)
            and any(map(self.modules.is_module, inner))
        ):
            items = [Item(i) for i in inner]
            self._declare(attribute, items, condition, called=False)
            return True
        return False

    def _element(self, node: ast.expr) -> bool:
        return (
            self.modules.is_module(node)
            or self.builder.origin.qualified(node) != ""
            or (isinstance(node, ast.Lambda))
        )

    later: dict[str, str]

    def _later(self, attribute: str, place: str) -> None:
        self.pending = {**getattr(self, "pending", {}), attribute: place}

    def complete(self) -> None:
        """Declare the lists that were filled after they were assigned."""
        for attribute, place in getattr(self, "pending", {}).items():
            self._in_place(attribute, place, None, called=False)

    def _in_place(
        self,
        attribute: str,
        place: str,
        condition: ast.expr | None,
        *,
        called: bool,
    ) -> None:
        """Declare a list where it was last appended to: what loops change has its value there."""
        setup = self.builder.setup
        at = self.positions.get(place, len(setup))
        after = setup[at:]
        del setup[at:]
        self._declare(attribute, self.building[place], condition, called=called)
        grown = len(setup) - at
        setup += after
        for other, position in self.positions.items():
            if position >= at:
                self.positions[other] = position + grown

    def _comprehension(
        self,
        attribute: str,
        node: ast.ListComp | ast.GeneratorExp,
        condition: ast.expr | None,
        *,
        called: bool,
    ) -> None:
        node = cloned(node)
        around = self.translator.around
        for generator in node.generators:
            self.without_keys(generator)
        hidden = {t for g in node.generators for t in targets(g.target)}
        saved = {k: around.locals.pop(k) for k in hidden if k in around.locals}
        generators = [self.translator.visit(g) for g in node.generators]
        made = self.modules.made(node.elt)
        around.locals.update(saved)
        if isinstance(made, ast.Call) and is_layer(made):
            place = f"{attribute}_layers" if called else attribute
            place = self.builder.free(place) if called else place
            self.builder.declare_list(place, made, generators, condition)
            if called:
                loop = statement(f"for layer in self.{place}:\n    x = layer(x)")
                self.modules.method(attribute, [loop, statement("return x")])
            return
        self.builder.notes.refuse(
            node,
            f"the list `{attribute}` is of layers of several kinds",
            "make a list for each kind of layer",
        )

    def without_keys(self, generator: ast.comprehension) -> None:
        """A loop over keys as a loop over their number; keys that are zipped, left out."""
        source = generator.iter
        if isinstance(source, ast.Call) and "split" in ast.unparse(source.func):
            number = number_of_keys(source)
            generator.iter = ast.Call(name("range"), [number], [])
            generator.target = ast.Name("_", ast.Store())
        if isinstance(source, ast.Subscript) and _is_one_of(source.value, self.keys):
            assert isinstance(source.value, ast.Name)
            number = _length(self.keys[source.value.id], source.slice)
            if number is not None:
                generator.iter = ast.Call(name("range"), [number], [])
                generator.target = ast.Name("_", ast.Store())
        if isinstance(source, ast.Name) and source.id in self.keys:
            number = cloned(self.keys[source.id])
            generator.iter = ast.Call(name("range"), [number], [])
            generator.target = ast.Name("_", ast.Store())
        if isinstance(source, ast.Call) and is_name(source.func, "enumerate"):
            inner = source.args[0]
            if isinstance(inner, ast.Name) and inner.id in self.keys:
                number = cloned(self.keys[inner.id])
                generator.iter = ast.Call(name("range"), [number], [])
                if isinstance(generator.target, ast.Tuple):
                    generator.target = generator.target.elts[0]
        if (
            isinstance(source, ast.Call)
            and is_name(source.func, "zip")
            and isinstance(generator.target, ast.Tuple)
        ):
            kept = [
                (target, given)
                for target, given in zip(
                    generator.target.elts, source.args, strict=False
                )
                if not (isinstance(given, ast.Name) and given.id in self.keys)
                and not splits(self.builder.origin, given)
            ]
            if len(kept) == 1:
                generator.target, generator.iter = kept[0]
            else:
                source.args = [given for _, given in kept]
                generator.target = ast.Tuple([t for t, _ in kept], ast.Store())

    def _declare(
        self,
        attribute: str,
        items: list[Item],
        condition: ast.expr | None,
        *,
        called: bool,
    ) -> None:
        builder = self.builder
        if not called and len(items) == 1 and isinstance(items[0].value, Loop):
            loop = items[0].value
            alone = len(loop.appended) == 1 and loop.appended[0][1] is None
            if alone and not self_attribute(loop.appended[0][0]):
                self._loop(attribute, loop, [attribute])
                return
        body: list[ast.stmt] = []
        elements: list[ast.expr] = []
        for number, item in enumerate(items):
            if isinstance(item.value, Loop):
                loop = item.value
                if item.condition is not None:
                    node = copy.copy(loop.node)
                    node.iter = where(item.condition, node.iter)
                    loop = replace(loop, node=node)
                suffix = str(number) if len(items) > 1 else ""
                body += self._loop(attribute, loop, None, suffix)
                continue
            standing = both(condition, item.condition)
            calls = self.modules.calls(attribute, [item.value], standing, number)
            if not called and standing is None and len(calls) != 1:
                # A sequence, or what hands on its input, is one element of a list.
                title = f"{attribute}_{number}"
                self.modules.method(title, chained(calls))
                calls = [expression(f"self._{title}")]
            for call in calls:
                elements.append(call)
                made = applied_to(call, name("x"))
                assign = ast.Assign([ast.Name("x", ast.Store())], made, lineno=0)
                if item.condition is None:
                    body.append(assign)
                    continue
                test = self._is_there(attribute, number, call, item.condition)
                body.append(ast.If(test, [assign], []))
        self.modules.method(attribute, _ending(body))
        if any(isinstance(i.value, Loop) or i.condition is not None for i in items):
            elements = []
        builder.attributes[attribute] = Attribute(
            "sequence", elements=elements, repeated=self._repeated(items)
        )
        self.translator.around.items[attribute] = elements

    def _repeated(self, items: list[Item]) -> tuple[ast.expr, ast.expr] | None:
        """The one layer that a list holds at all of its places."""
        loop = items[0].value if len(items) == 1 else None
        if not isinstance(loop, Loop) or len(loop.appended) != 1:
            return None
        [(element, condition)] = loop.appended
        if condition is not None or not self_attribute(element):
            return None
        return tuple(map(self.translator.expression, (element, loop.node.iter)))  # type: ignore[return-value]

    def _is_there(
        self, attribute: str, number: int, call: ast.expr, condition: ast.expr
    ) -> ast.expr:
        """Whether a list has an element, as the method that calls it asks."""
        known = self.builder.attributes.get(self_attribute(call) or "")
        if known is not None and known.kind == "layer":
            return expression("f is not None", f=call)
        if names(condition) <= {"self"}:
            return cloned(condition)
        # It reads locals of setup.
        place = self.builder.free(f"has_{attribute}_{number}")
        self.builder.derive(place, condition)
        return expression(f"self.{place}")


def _is_one_of(node: ast.expr, known: Collection[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in known


def _length(number: ast.expr, part: ast.expr) -> ast.expr | None:
    """How many of so many elements a slice takes."""
    if not isinstance(part, ast.Slice) or part.step is not None:
        return None
    ends = [cloned(number), cloned(number)]
    ends[0] = ast.Constant(0)
    for i, end in enumerate((part.lower, part.upper)):
        at = literal(end) if end is not None else None
        if isinstance(at, int) and at < 0:
            ends[i] = expression("n + at", n=number, at=ast.Constant(at))
        elif end is not None:
            ends[i] = cloned(end)
    return folded(expression("b - a", a=ends[0], b=ends[1]))


def _ending(body: list[ast.stmt]) -> list[ast.stmt]:
    last = body[-1] if body else None
    if isinstance(last, ast.Assign):
        return [*body[:-1], ast.Return(last.value)]
    return [*body, statement("return x")]


__all__ = ["Lists", "self_attribute"]
