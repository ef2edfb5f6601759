"""Concrete shapes for shape annotations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

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
    is_size,
    parse_shape,
)
from mlax_scaffold.testing import strategies
from mlax_scaffold.testing.picks import Pick, Unfit
from mlax_scaffold.testing.strategies import booleans, choices, levels
from mlax_scaffold.testing.stretched import Said

_LAST = "any_axis"
"""What the axis is called that stands for `...` behind others."""
_LARGE = 256
"""An axis of a test has no more entries."""

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
    patterns: Mapping[str, Patterns]
    loose: tuple[str, ...] = ()
    """Names of inputs that may have other shapes than were picked."""
    trees: tuple[str, ...] = ()
    """Names of those that may be of any kind, too."""
    arrays: dict[str, jax.ShapeDtypeStruct] = field(default_factory=dict)
    """The inputs that were made, by name."""
    integers: set[str] = field(default_factory=set)
    """Names of those in the dtype of the computation that may be of integers, too."""

    def array(
        self, name: str, dtype: DTypeLike = jnp.float32, *, integers: bool = False
    ) -> jax.ShapeDtypeStruct:
        """An input of that name; a floating dtype is replaced by that of the situation.

        `integers` says that it may be of integers, too.
        """
        made = jax.ShapeDtypeStruct(self.shapes[name], jnp.dtype(dtype))
        self.arrays[name] = made
        if integers:
            self.integers.add(name)
        return made

    def __getitem__(self, name: str) -> Any:
        return self.shapes[name]

    def __iter__(self):
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def expected(self, patterns: Patterns) -> Any:
        """The shapes of outputs.

        None stands for the size of `_` and of a name that only outputs have, and for each of
        the axes `*name` of which no more than the number is known. Raises ShapeMismatch
        for axes of which not even that is known.
        """
        return _map(patterns, lambda text: self._expected(self._resolve(text)))

    def _expected(self, shape: Shape) -> tuple[int | None, ...]:
        found: list[int | None] = []
        for dim in shape.dims:
            match dim:
                case Anonymous():
                    found.append(None)
                case Fixed(n):
                    found.append(Said(n))
                case Named(name, broadcast=False) if name not in self.sizes:
                    found.append(None)
                case Variadic(name) if name not in self.sizes and dim.count(self.sizes):
                    found += [None] * (dim.count(self.sizes) or 0)
                case _:
                    found += Shape((dim,)).evaluate(self.sizes)
        return tuple(found)

    def _resolve(self, text: str) -> Shape:
        return parse_shape(text).resolve(self.fields)


def shapes_of(
    pick: Pick,
    patterns: Mapping[str, Patterns],
    known: Mapping[str, Any] = MappingProxyType({}),
    *,
    max_size: int = 4,
    max_axes: int = 2,
    ranks: Mapping[str, int] | None = None,
    given: Mapping[str, tuple[int, ...]] | None = None,
    loose: tuple[str, ...] = (),
    trees: tuple[str, ...] = (),
    carry: tuple[str, str, Callable[[tuple[int, ...], DTypeLike], Any]] | None = None,
) -> Shapes:
    """Shapes of the inputs of one layer, which agree on the size of every name.

    Args:
        pick: picks sizes and numbers of axes.
        patterns: the shape annotation of each input.
        known: the hyperparameters: sizes, tuples of sizes for a `*name`, `name_dims`
            for the number of axes of a `*name`, and the fields that conditional shapes
            depend on.
        max_size: unknown axes have from 1 to so many entries.
        max_axes: `*name` and `...` stand for from 0 to so many axes.
        ranks: the number of axes of a `*name` that must have a certain one.
        given: shapes of inputs that are not picked, by name.
        loose: names of inputs whose annotations allow more than their patterns.
        trees: names of those that may be anything.
        carry: names of a cell's inputs and carry, and what makes the first carry of the
            inputs' shape: it says what sizes the carry has that the inputs have not.

    Raises:
        Unfit: where a computed size is none for the sizes that were picked, or where
            they are others than those of the shapes that are given.
    """
    parsed = {name: _map(value, parse_shape) for name, value in patterns.items()}
    sizes = {name: value for name, value in known.items() if is_size(value)}
    fitted = {name: parsed.pop(name).resolve(known) for name in given or {}}
    # What broadcasts says no sizes: the others, wherever they stand, say what it broadcasts to.
    for name in sorted(fitted, key=lambda n: fitted[n].broadcast):
        shape = (given or {})[name]
        if name in loose:
            shape = _without_open_axes(fitted[name], shape)
        try:
            sizes = fitted[name].bind(shape, sizes)
        except ShapeMismatch as error:
            # An example leaves open hyperparameters that its shapes do not fit.
            raise Unfit from error
    picking = _Picking(pick, max_size, max_axes, ranks or {}, sizes, known)
    if carry:
        inputs, name, first = carry
        shape = picking.make(inputs, picking.resolve(parsed[inputs]))
        for at, made in _first_carry(first, shape):
            pattern = parsed[f"{name}{at}"].resolve(known)
            picking.sizes = sizes = pattern.bind(made, sizes)
    # Broadcasting axes take their sizes from those that do not.
    resolved = {name: _map(value, picking.resolve) for name, value in parsed.items()}
    shapes = {
        name: _map(value, lambda shape, name=name: picking.make(name, shape))
        for name, value in resolved.items()
    }
    return Shapes({**shapes, **(given or {})}, sizes, known, patterns, loose, trees)


def _without_open_axes(pattern: Shape, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a shape that its pattern has, where the annotation has `...` before or behind them."""
    more = len(shape) - len(pattern.dims)
    if more <= 0 or any(isinstance(dim, Variadic | AnyAxes) for dim in pattern.dims):
        return shape
    behind = str(pattern).endswith(_LAST)
    return (*shape[: -more - 1], shape[-1]) if behind else shape[more:]


@dataclass
class _Picking:
    """Shapes that are picked, which agree on `sizes`."""

    pick: Pick
    max_size: int
    max_axes: int
    ranks: Mapping[str, int]
    sizes: dict[str, Any]
    known: Mapping[str, Any]

    def resolve(self, shape: AnyShape) -> Shape:
        resolved = shape.resolve(self.known)
        for dim in resolved.dims:
            self.bind(dim)
        return resolved

    def bind(self, dim: Dim) -> None:
        match dim:
            case Named(name) if name not in self.sizes:
                self.sizes[name] = self.size(name)
            case Variadic(name) if name not in self.sizes:
                count = self.ranks.get(name, dim.count(self.sizes))
                self.sizes[name] = self.axes(name, count)
            case Computed(names=names):
                for name in names:
                    if name not in self.sizes:
                        self.sizes[name] = self.size(name)
            case _:
                pass

    def size(self, name: str) -> int:
        whole = _products(self.known)
        return self.pick(_size_of(name), strategies.axis_sizes(self.max_size, whole))

    def axes(self, name: str, count: int | None) -> tuple[int, ...]:
        many = choices(*range(self.max_axes + 1))
        axes = self.pick(_number_of(name), many) if count is None else count
        return tuple(self.size(f"{name}[{i}]") for i in range(axes))

    def make(self, label: str, shape: Shape) -> tuple[int, ...]:
        try:
            full = tuple(
                n
                for i, dim in enumerate(shape.dims)
                for n in self.concrete(f"{label}[{i}]", dim)
            )
        except ShapeMismatch as error:
            # A computed size came out negative for sizes that were picked.
            raise Unfit from error
        return self.narrower(label, full) if shape.broadcast else full

    def concrete(self, label: str, dim: Dim) -> tuple[int, ...]:
        match dim:
            case Named(broadcast=True) if self.pick(f"{label} is 1", booleans()):
                return (1,)
            case Anonymous():
                return (self.size(label),)
            case AnyAxes():
                return self.axes(label, None)
            case Fixed(n):
                return (n,)
            case _:
                return Shape((dim,)).evaluate(self.sizes)

    def narrower(self, label: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to it."""
        count = len(shape)
        lacks = levels([0], range(1, count), [count] * (count > 0))
        first = self.pick(f"axes that {label} lacks", lacks)
        ones = self.pick(f"axes of {label} that are 1", choices("none", "some", "all"))
        if ones == "all":
            return (1,) * (len(shape) - first)
        each = enumerate(shape[first:])
        return tuple(1 if ones == "some" and i % 2 == 0 else n for i, n in each)


def _products(known: Mapping[str, Any]) -> tuple[int, ...]:
    """The products of sequences of integers: sizes of what is reshaped to them."""
    several = [v for v in known.values() if isinstance(v, tuple) and len(v) > 1]
    found = {math.prod(v) for v in several}
    return tuple(sorted(n for n in found if 0 < n <= _LARGE))


def _first_carry(
    first: Callable[[tuple[int, ...], DTypeLike], Any], shape: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What selects each array of the first carry (`[0]`), and its shape."""
    try:
        made = jax.eval_shape(lambda: first(shape, jnp.float32))
    except ValueError as error:
        raise Unfit from error
    for path, leaf in jax.tree.leaves_with_path(made):
        keys = [jax.tree_util.keystr((key,), simple=True) for key in path]
        yield "".join(f"[{k if k.isdigit() else repr(k)}]" for k in keys), leaf.shape


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


def untold(module: Any, entry: str, shapes: Any) -> list[str]:
    """The sizes that a module learns, and that no input of another entry point than `fwd` tells."""
    if entry == "forward":
        return []
    patterns = shapes.patterns.values() if shapes else ()
    told = {word for pattern in patterns for word in pattern.split()}
    return [
        n for n, axis in getattr(module, "inferred", {}).items() if axis not in told
    ]


def names_of(axis: str) -> tuple[str, ...]:
    """What is picked for an axis of that name, or for the first of several."""
    return _number_of(axis), _size_of(axis), _size_of(f"{axis}[0]")


def _size_of(name: str) -> str:
    return f"size of {name}"


def _number_of(name: str) -> str:
    return f"number of {name}"
