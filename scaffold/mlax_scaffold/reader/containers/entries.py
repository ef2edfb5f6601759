"""Calls of other entry points of sub-layers: `self.embed.attend(x)`; and layers that are handed on.

The first are read as `self.embed(x, entry__='attend')`, so that all that knows of calls of sub-layers (keys,
states, the order of evaluation) knows of these. So does it of `jax.checkpoint(self.blocks[0])`, which is read
as `jax.checkpoint(lambda x: self.blocks[0](x))`.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlax_scaffold.model.places import Member
from mlax_scaffold.model.reserved import ENTRY_POINT
from mlax_scaffold.reader.containers.place import Place
from mlax_scaffold.reader.source import self_attribute

EntriesOf = Callable[[Any], Mapping[str, int]]
"""The entry points of what is declared, and how many inputs without a default each has."""


@dataclass(frozen=True)
class Layers:
    """What is known of the sub-layers of a class."""

    plain: Mapping[str, tuple[Any, ...]]
    """What each attribute is that is one sub-layer."""
    entries_of: EntriesOf
    lines: Sequence[str]
    """The text of the class."""


class Entering(ast.NodeVisitor):
    """The part of a walk over a method that reads them."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers

    def place(self, node: ast.expr) -> Place | None:
        """The place of a container that an expression stands for."""
        raise NotImplementedError

    def members(self, place: Place) -> list[Member]:
        """What may be at a place, and below it."""
        raise NotImplementedError

    def change(self, node: ast.AST, text: str) -> None:
        """Another text for a node."""
        raise NotImplementedError

    def entry(self, node: ast.expr) -> tuple[Place, str, int] | None:
        """The place of a layer, the name of an entry point of it, and how many inputs that has."""
        if not isinstance(node, ast.Attribute):
            return None
        place, name = self.place(node.value), self_attribute(node.value) or ""
        if place is None and name in self.layers.plain:
            place = Place(name)
        if place is None:
            return None
        kinds = [m.what for m in self.members(place) if not m.steps]
        kinds = kinds or list(self.layers.plain.get(place.name, ()))
        entries = [self.layers.entries_of(kind) for kind in kinds if kind is not None]
        if not entries or not all(node.attr in known for known in entries):
            return None
        return place, node.attr, max(known[node.attr] for known in entries)

    def enters(self, call: ast.Call) -> bool:
        """Whether a call is of an entry point; it is changed then."""
        entry = self.entry(call.func)
        if entry is None:
            return False
        place, name, _ = entry
        self.change(call.func, place.text)
        for argument in (*call.args, *call.keywords):
            self.visit(argument)
        if name != "forward":
            self._name(call, name)
        return True

    def is_entered(self, node: ast.Attribute) -> bool:
        """Whether an entry point stands there as a value; it is changed to a function then."""
        entry = self.entry(node) if isinstance(node.ctx, ast.Load) else None
        if entry is None:
            return False
        place, name, count = entry
        text = _function(place, count, f", {ENTRY_POINT}={name!r}")
        self.change(node, place.text if name == "forward" else text)
        return True

    def is_handed_on(self, node: ast.expr) -> bool:
        """Whether a layer of a container stands there as a value; it is changed to a function then."""
        place = self.place(node)
        if place is None:
            return False
        kinds = [m.what for m in self.members(place) if not m.steps]
        entries = [self.layers.entries_of(kind) for kind in kinds if kind is not None]
        if not entries or not all("forward" in known for known in entries):
            return False
        count = max(known["forward"] for known in entries)
        self.change(node, _function(place, count))
        return True

    def _name(self, call: ast.Call, name: str) -> None:
        """Say at the end of a call which entry point is meant."""
        line, column = call.end_lineno or call.lineno, call.end_col_offset or 1
        end = ast.Pass(
            lineno=line,
            col_offset=column - 1,
            end_lineno=line,
            end_col_offset=column - 1,
        )
        open_ = not (call.args or call.keywords) or self._ends_in_comma(call)
        self.change(end, f"{'' if open_ else ', '}{ENTRY_POINT}={name!r}")

    def _ends_in_comma(self, call: ast.Call) -> bool:
        """Whether a comma stands behind the last argument of a call."""
        lines = [*self.layers.lines[call.lineno - 1 : call.end_lineno]]
        if not lines:
            return False
        lines[-1] = lines[-1].encode()[: (call.end_col_offset or 1) - 1].decode()
        lines[0] = lines[0].encode()[call.col_offset :].decode()
        inside = "\n".join(lines)
        try:
            ast.parse(f"({inside}, _=0))")
        except SyntaxError:
            return True
        return False


def _function(place: Place, count: int, more: str = "") -> str:
    """The text of a function that calls the layer at a place, where its variables are what they are now."""
    parsed = (ast.parse(text, mode="eval") for text in place.texts)
    bound = {n.id for tree in parsed for n in ast.walk(tree) if isinstance(n, ast.Name)}
    free = (n for n in (*"xyzuvw", *(f"x_{i}" for i in range(count))) if n not in bound)
    names = ", ".join(itertools.islice(free, count))
    given = ", ".join([names, *(f"{n}={n}" for n in sorted(bound - {"self"}))])
    return f"(lambda {given}: {place.text}({names}{more}))"
