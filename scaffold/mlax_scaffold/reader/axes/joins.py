"""Inputs that are joined along an axis, `jnp.concatenate([x, h], axis=-1)`: each has a size of its own there.

A layer that is given them together says the sizes: `Linear(self.inputs + self.hidden, 4)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mlax_scaffold.reader.axes.aliases import Alias
from mlax_scaffold.reader.axes.carries import MADE
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.operations import Find, integer, joined
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.source import dotted

_RESIZED = ("repeat", "resize")
"""What leaves the number of axes, and gives some of them other sizes."""
_CHANNELS = 1
"""The axis of channels that stand behind the batch."""


@dataclass(frozen=True)
class _Part:
    """An input, or what has other sizes of some of its axes; None: it is neither."""

    known: Known | None
    resized: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Join:
    """What is joined, and along which axis."""

    parts: tuple[_Part, ...]
    axis: int

    @property
    def inputs(self) -> list[_Part]:
        return [p for p in self.parts if p.known is not None]


class Joins:
    """What names stand for that are joined of inputs, and what layers say of it."""

    def __init__(self) -> None:
        self._found: dict[ast.expr, Join] = {}
        self._named: dict[str, Join] = {}
        self._resized: dict[str, _Part] = {}
        self._shapes: dict[str, list[ast.expr]] = {}
        self._made: list[Join] = []
        self._told: dict[Join, tuple[str, ...]] = {}

    def bind(self, name: str, value: ast.expr, find: Find) -> None:
        """A name stands for a value from here on."""
        join, part = self.of(value, find), self._part(value, find)
        self._named.pop(name, None)
        self._resized.pop(name, None)
        self._shapes.pop(name, None)
        if shape := _shape(value):
            self._shapes[name] = shape
        if join is not None:
            self._named[name] = join
        if part.resized:
            self._resized[name] = part

    def of(self, node: ast.expr, find: Find) -> Join | None:
        """What an expression joins; None where it joins nothing, or along an axis that is not written."""
        if isinstance(node, ast.Name):
            return self._named.get(node.id)
        parts, axis = joined(node) or ([], None)
        if axis is None:
            return None
        if node not in self._found:
            self._found[node] = Join(tuple(self._part(p, find) for p in parts), axis)
        return self._found[node]

    def tell(self, call: ast.Call, find: Find, scope: Scope) -> None:
        """Note what is joined, and which axes an input has that gets other sizes."""
        join = self.of(call, find)
        if join is not None:
            self._beside_made(call, join, scope)
        if join is not None and len({id(p.known) for p in join.inputs}) > 1:
            self._made.append(join)
        part = self._part(call, find)
        if part.known is not None and part.resized:
            shape = call.args[1] if _last_name(call.func) == "resize" else None
            if isinstance(shape, ast.Tuple):
                part.known.has(len(shape.elts))
            part.known.at(max(part.resized))

    def _beside_made(self, call: ast.Call, join: Join, scope: Scope) -> None:
        """An input has the axes of an array that is made, `jnp.zeros((1, 3))`, but for that of the join."""
        parts, _ = joined(call) or ([], None)
        inputs = [part.known for part in join.parts if part.known]
        for part in parts:
            name = part.id if isinstance(part, ast.Name) else ""
            made = self._shapes.get(name) or _shape(part)
            for known in inputs if made else ():
                known.has(len(made))
                for axis, size in enumerate(made):
                    if axis not in (join.axis, join.axis + len(made)):
                        known.call(axis, scope.size(size))

    def given(self, join: Join, words: Sequence[str]) -> None:
        """A layer takes what is joined, as inputs of that shape."""
        sizes = [terms(word) for word in words]
        fitting = [s for s in sizes if len(s) == len(join.parts) > 1]
        if len(fitting) == 1:
            self._told.setdefault(join, tuple(fitting[0]))
            behind = len(words) - 1 - sizes.index(fitting[0])
            for part in join.inputs if join.axis >= 0 else ():
                assert part.known is not None
                if behind:
                    part.known.at(join.axis + behind)
                else:
                    part.known.has(join.axis + 1)

    def settle(self) -> None:
        """Each input has the size of its own along the axis, and as many axes as the others."""
        for join in dict.fromkeys(self._made):
            _even(join)
            own = _of_parts(join, self._told.get(join, ()))
            for part, size in zip(join.parts, own, strict=True):
                known = part.known
                if known is None:
                    continue
                if size:
                    known.call(join.axis, size)
                elif (known.exact or known.least) > join.axis >= 0:
                    known.name_axis(join.axis, f"{known.name}_features")

    def _part(self, node: ast.expr, find: Find) -> _Part:
        alias: Alias | None = find(node)
        if alias is not None and alias.whole and not alias.extra:
            return _Part(alias.known)
        match node:
            case ast.Name(id=name):
                return self._resized.get(name, _Part(None))
            case ast.Call(func=function, args=[first, *rest], keywords=given) if (
                _last_name(function) in _RESIZED
            ):
                inner = self._part(first, find)
                axes = [k.value for k in given if k.arg == "axis"]
                axis = integer(axes[0]) if axes else None
                if rest and isinstance(rest[0], ast.Tuple):
                    count = len(rest[0].elts)
                    spatial = range(_CHANNELS + 1, count)
                    return _Part(inner.known, inner.resized | {*spatial})
                if axis is not None and axis >= 0:
                    return _Part(inner.known, inner.resized | {axis})
        return _Part(None)


def terms(word: str) -> list[str]:
    """The sizes that a sum has, each as often as it stands in it: `a+2*b` has a, b and b."""
    found: list[str] = []
    for term in re.split(r"\+(?![^()]*\))", word):
        counted = re.fullmatch(r"(\d)\*([A-Za-z_]\w*)|([A-Za-z_]\w*)\*(\d)", term)
        if counted is None:
            found.append(term)
        else:
            count, name = counted[1] or counted[4], counted[2] or counted[3]
            found += [name] * int(count)
    return found


def _even(join: Join) -> None:
    """All parts have as many axes, and the same but where they are joined, or have got other sizes."""
    inputs = [p.known for p in join.inputs if p.known is not None]
    exact = next((k.exact for k in inputs if k.exact is not None), None)
    least = max(k.least for k in inputs)
    resized = frozenset[int]().union(*(p.resized for p in join.inputs))
    names = {a: n for k in reversed(inputs) for a, n in k.names.items()}
    for part in join.inputs:
        known = part.known
        assert known is not None
        if exact is not None:
            known.has(exact)
        elif least > 1:
            known.at(least - 1)
        for axis in range(max(least, exact or 0)):
            if axis == join.axis or axis in part.resized:
                continue
            if axis in resized:
                known.name_axis(axis, f"{known.name}_{axis}")
            elif axis in names:
                known.name_axis(axis, names[axis])


def _of_parts(join: Join, sizes: Sequence[str]) -> list[str]:
    """The size of each part: one that it is known to have, one that it is called like, else in order."""
    found = [""] * len(join.parts)
    left = [*sizes]
    for belongs in (_is_known, _is_called):
        for i, part in enumerate(join.parts):
            own = [s for s in left if not found[i] and belongs(part, s, join.axis)]
            if len({*own}) == 1:
                found[i] = own[0]
                left.remove(own[0])
    return [size or (left.pop(0) if left else "") for size in found]


def _is_known(part: _Part, size: str, axis: int) -> bool:
    return part.known is not None and part.known.axes.get(axis) == size


def _is_called(part: _Part, size: str, axis: int) -> bool:
    """Whether an input is called like a size: `hidden` or `h` like `hidden_size`."""
    known = part.known
    if known is None:
        return False
    return known.is_called(size) or (
        len(known.name) == 1 and size.startswith(known.name)
    )


def _last_name(function: ast.expr) -> str:
    return (dotted(function) or "").rpartition(".")[2]


def _shape(node: ast.expr) -> list[ast.expr]:
    """The sizes of an array that is made of one number; none of anything else."""
    match node:
        case ast.Call(func=made, args=[ast.Tuple(elts=sizes), *_]) if (
            _last_name(made) in MADE
        ):
            return sizes
    return []
