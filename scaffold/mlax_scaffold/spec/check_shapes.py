"""Checks that the names in shapes mean something: a hyperparameter, or an axis of an input."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlax_scaffold.errors import Diagnostic, Location, did_you_mean
from mlax_scaffold.model.definition import ArrayType, Definition, Method, MethodRole
from mlax_scaffold.model.shapes import Conditional, Shape

_SIZES = ("Size", "Count", "int")
_SIZE_HINT = "Write `_` for the axis, and check its size with `require`."


def check_shapes(definition: Definition) -> list[Diagnostic]:
    """Every finding in the shapes of a definition."""
    found: list[Diagnostic] = []
    for method in definition.methods:
        if method.role is MethodRole.ENTRY:
            found += _Checker(definition, method).check()
    return found


class _Checker:
    def __init__(self, definition: Definition, method: Method):
        self.definition = definition
        self.method = method
        self.sizes = [
            h.name
            for h in definition.hyperparameters
            if h.type.word.name in _SIZES and not h.type.per_dim
        ]
        self.absent = [
            h.name
            for h in definition.hyperparameters
            if h.name in self.sizes and h.type.optional
        ]
        self.switches = [
            h.name for h in definition.hyperparameters if h.type.word.name == "bool"
        ]

    def check(self) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        bound: set[str] = set()
        for item in self.method.inputs:
            for shape in _shapes(item.type):
                found += self._switch(shape)
                for name in shape.names():
                    if name in self.absent:
                        found.append(self._at(shape, name, "may be None", _SIZE_HINT))
                    close = did_you_mean(name, self.sizes, cutoff=0.8)
                    if not self._known(name) and close:
                        found.append(
                            self._at(shape, name, "names no hyperparameter", close)
                        )
                    if not _only_broadcast(shape):
                        bound.add(name)
        if self.method.returns is not None:
            for shape in _shapes(self.method.returns):
                found += self._switch(shape)
                for name in shape.names():
                    if name not in bound and not self._known(name):
                        message = (
                            "names neither a hyperparameter nor an axis of an input"
                        )
                        hint = did_you_mean(name, [*self.sizes, *bound])
                        other = "Write `_` for an axis, `...` for several, that depend on more."
                        found.append(self._at(shape, name, message, hint or other))
        return found

    def _known(self, name: str) -> bool:
        derived = {d.name for d in self.definition.declarations}
        return name in self.sizes or name in derived

    def _switch(self, shape: Shape | Conditional) -> list[Diagnostic]:
        if not isinstance(shape, Conditional) or shape.field in self.switches:
            return []
        hint = did_you_mean(shape.field, self.switches) or "Add `field: bool = False`."
        return [self._at(shape, shape.field, "is no hyperparameter of type bool", hint)]

    def _at(
        self, shape: Shape | Conditional, name: str, message: str, hint: str
    ) -> Diagnostic:
        """A finding at a name in a shape's text."""
        # The text as it stands there, whatever its quotes and its spaces.
        words = r"\s+".join(map(re.escape, str(shape).split()))
        pattern = re.compile(rf"""["']\s*{words}\s*["']""")
        for number, line in enumerate(self.definition.text.split("\n"), 1):
            literal = pattern.search(line)
            found = re.compile(rf"\b{re.escape(name)}\b")
            word = literal and found.search(line, literal.start(), literal.end())
            if word:
                place = Location(self.definition.source, number, word.start() + 1)
                return Diagnostic(place, f"`{name}` {message}", hint, line, len(name))
        return Diagnostic(
            Location(self.definition.source, 1, 1), f"`{name}` {message}", hint
        )


def _only_broadcast(shape: Shape | Conditional) -> bool:
    """Whether an array of that shape gives no axis a size."""
    return isinstance(shape, Shape) and shape.broadcast


def _shapes(array: ArrayType) -> Iterator[Shape | Conditional]:
    if array.shape is not None:
        yield array.shape
    for item in array.items:
        yield from _shapes(item)
