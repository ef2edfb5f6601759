"""What names stand for that are no inputs: the axes of what Einstein sums make, and places along an axis."""

from __future__ import annotations

import ast

from mlax_scaffold.reader.axes.calls import base_of
from mlax_scaffold.reader.axes.operations import Find, by_element
from mlax_scaffold.reader.source import dotted

_OF_ROWS = ("log_softmax", "softmax")
"""Functions whose results have the axes of what they are given, beside those by element."""


class Sums:
    """The axes of what names stand for, by the letters that Einstein sums have for them."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        self._places: set[str] = set()

    def bind(self, name: str, value: ast.expr) -> None:
        """A name stands for a value from here on."""
        self._found[name] = self.of(value)
        self._places.discard(name)
        if self.are_places(value):
            self._places.add(name)

    def are_places(self, node: ast.expr) -> bool:
        """Whether it is `jnp.arange(n)[None]`, or a name of that."""
        match base_of(node):
            case ast.Name(id=name):
                return name in self._places
            case ast.Call(func=function):
                return (dotted(function) or "").rpartition(".")[2] == "arange"
        return False

    def of(self, node: ast.expr) -> str:
        """A letter for each axis; "" where they are not known."""
        match node:
            case ast.Name(id=name):
                return self._found.get(name, "")
            case ast.UnaryOp(operand=inner):
                return self.of(inner)
            case ast.BinOp(left=left, op=op, right=right) if not isinstance(
                op, ast.MatMult
            ):
                return max(self.of(left), self.of(right), key=len)
            case ast.Call(func=function, args=[first, *rest]):
                name = (dotted(function) or "").rpartition(".")[2]
                if name == "einsum" and isinstance(first, ast.Constant):
                    made = str(first.value).partition("->")[2].strip()
                    return made if made.isalpha() else ""
                if name == "where" and rest:
                    return self.of(rest[0])
                if by_element(function) or name in _OF_ROWS:
                    return self.of(first)
        return ""

    def tell(self, call: ast.Call, find: Find) -> None:
        """`where(edges[..., None] > 0, scores, -inf)`: what is compared has the axes of what is chosen."""
        name = (dotted(call.func) or "").rpartition(".")[2]
        match call.args:
            case [ast.Compare(left=left), one, other] if name == "where":
                alias, letters = find(left), self.of(one) or self.of(other)
                if alias and len(letters) > alias.extra:
                    own = letters[: len(letters) - alias.extra]
                    alias.known.has(len(own))
                    for axis, letter in enumerate(own):
                        alias.known.name_axis(axis, letter)
