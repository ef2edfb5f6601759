"""Hypothesis strategies that draw concrete shapes for shape annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from mlax_scaffold.model.shapes import (
    Anonymous,
    AnyAxes,
    AnyShape,
    Computed,
    Dim,
    Fixed,
    Named,
    Shape,
    ShapeMismatch,
    Variadic,
    parse_shape,
)

Patterns = Any
"""The text of a shape, None, or a tuple, list or mapping of such."""


@dataclass(frozen=True)
class Shapes(Mapping[str, Any]):
    """Concrete shapes by the name of the input, and the sizes that they were made from.

    For a tuple of patterns it holds a tuple of shapes, and None for None.
    """

    shapes: Mapping[str, Any]
    sizes: Mapping[str, int | tuple[int, ...]]
    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.shapes[name]

    def __iter__(self):
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def expected(self, patterns: Patterns) -> Any:
        """The shapes of outputs, in which all names have a size by now.

        None stands for the size of `_`, and for each of the axes `*name` of which no more
        than the number is known. Raises ShapeMismatch where a name has no size, and for
        `...`.
        """
        return _map(patterns, lambda text: self._expected(self._resolve(text)))

    def _expected(self, shape: Shape) -> tuple[int | None, ...]:
        found: list[int | None] = []
        for dim in shape.dims:
            match dim:
                case Anonymous():
                    found.append(None)
                case Variadic(name) if name not in self.sizes and dim.count(self.sizes):
                    found += [None] * (dim.count(self.sizes) or 0)
                case _:
                    found += Shape((dim,)).evaluate(self.sizes)
        return tuple(found)

    def _resolve(self, text: str) -> Shape:
        return parse_shape(text).resolve(self.fields)


def shapes_of(
    patterns: Mapping[str, Patterns],
    *,
    max_size: int = 4,
    max_axes: int = 2,
    ranks: Mapping[str, int] | None = None,
    given: Mapping[str, tuple[int, ...]] | None = None,
    **known: Any,
) -> st.SearchStrategy[Shapes]:
    """Shapes of the inputs of one layer, which agree on the size of every name.

    Args:
        patterns: the shape annotation of each input.
        max_size: unknown axes have from 1 to so many entries.
        max_axes: `*name` and `...` stand for from 0 to so many axes.
        ranks: the number of axes of a `*name` that must have a certain one.
        given: shapes of inputs that are not drawn, by name.
        **known: the hyperparameters: sizes, tuples of sizes for a `*name`, `name_dims`
            for the number of axes of a `*name`, and the fields that conditional shapes
            depend on.
    """
    parsed = {name: _map(value, parse_shape) for name, value in patterns.items()}
    sizes = {name: value for name, value in known.items() if _is_size(value)}
    for name, shape in (given or {}).items():
        sizes = parsed.pop(name).resolve(known).bind(shape, sizes)
    drawn = _shapes_of(parsed, max_size, max_axes, dict(ranks or {}), sizes, known)
    return drawn.map(lambda s: replace(s, shapes={**s.shapes, **(given or {})}))


@st.composite
def _shapes_of(
    draw: st.DrawFn,
    patterns: Mapping[str, Any],
    max_size: int,
    max_axes: int,
    ranks: Mapping[str, int],
    start: Mapping[str, int | tuple[int, ...]],
    known: Mapping[str, Any],
) -> Shapes:
    size = st.integers(1, max_size)
    sizes = dict(start)

    def axes(n: int | None) -> tuple[int, ...]:
        low, high = (0, max_axes) if n is None else (n, n)
        return tuple(draw(st.lists(size, min_size=low, max_size=high)))

    def bind(dim: Dim) -> None:
        match dim:
            case Named(name) if name not in sizes:
                sizes[name] = draw(size)
            case Variadic(name) if name not in sizes:
                sizes[name] = axes(ranks.get(name, dim.count(sizes)))
            case Computed(names=names):
                for name in names:
                    if name not in sizes:
                        sizes[name] = draw(size)
            case _:
                pass

    def concrete(dim: Dim) -> tuple[int, ...]:
        match dim:
            case Named(broadcast=True) if draw(st.booleans()):
                return (1,)
            case Anonymous():
                return (draw(size),)
            case AnyAxes():
                return axes(None)
            case Fixed(n):
                return (n,)
            case _:
                return Shape((dim,)).evaluate(sizes)

    def narrower(shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to it."""
        kept = shape[draw(st.integers(0, len(shape))) :]
        return tuple(1 if draw(st.booleans()) else n for n in kept)

    def resolve(shape: AnyShape) -> Shape:
        resolved = shape.resolve(known)
        for dim in resolved.dims:
            bind(dim)
        return resolved

    def make(shape: Shape) -> tuple[int, ...]:
        try:
            full = tuple(n for dim in shape.dims for n in concrete(dim))
            return narrower(full) if shape.broadcast else full
        except ShapeMismatch:
            # A computed size came out negative for sizes that were drawn.
            assume(False)
            raise

    resolved = {name: _map(value, resolve) for name, value in patterns.items()}
    shapes = {name: _map(value, make) for name, value in resolved.items()}
    return Shapes(shapes, sizes, known)


def _is_size(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_size, value))
    return isinstance(value, int) and not isinstance(value, bool)


def _map(patterns: Any, function: Any) -> Any:
    match patterns:
        case None:
            return None
        case tuple() | list():
            return type(patterns)(_map(value, function) for value in patterns)
        case Mapping():
            return {name: _map(value, function) for name, value in patterns.items()}
        case _:
            return function(patterns)
