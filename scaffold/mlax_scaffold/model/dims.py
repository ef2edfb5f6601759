"""The dims of which a shape consists, and what they evaluate to.

`mlax_scaffold.model.shapes` parses them and is the module to import from.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from mlax_scaffold.model.arithmetic import Unknown, evaluate

Sizes: TypeAlias = Mapping[str, int | tuple[int, ...]]
"""The size of each named axis, and the tuple of sizes of each variadic name."""

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)
"""What may stand between the names and integers of an axis that is computed."""


class ShapeMismatch(ValueError):
    """Sizes do not fit a shape, or a shape cannot be evaluated with the sizes given."""


@dataclass(frozen=True)
class Named:
    """An axis whose size has a name; with `broadcast` its size may also be 1."""

    name: str
    broadcast: bool = False

    def __str__(self) -> str:
        return f"#{self.name}" if self.broadcast else self.name


@dataclass(frozen=True)
class Variadic:
    """Any number of axes, whose sizes have a name together."""

    name: str

    def __str__(self) -> str:
        return f"*{self.name}"

    @property
    def counters(self) -> tuple[str, ...]:
        """Names that the number of axes has, where something is called so.

        What says how many `*spatial` there are also says how many `*kernel_spatial`.
        """
        kinds = dict.fromkeys((self.name, self.name.rpartition("_")[2]))
        return tuple(n for kind in kinds for n in (f"{kind}_dims", f"num_{kind}"))

    def counter(self, names: Container[str]) -> str | None:
        """The one of the names that says how many axes there are."""
        return next((name for name in self.counters if name in names), None)

    def count(self, sizes: Sizes) -> int | None:
        """The number of axes; None where it is not known."""
        axes = sizes.get(self.name)
        if isinstance(axes, tuple):
            return len(axes)
        counter = self.counter(sizes)
        number = None if counter is None else sizes[counter]
        return number if isinstance(number, int) else None


@dataclass(frozen=True)
class Fixed:
    """An axis of a size that is written out."""

    size: int

    def __str__(self) -> str:
        return str(self.size)


@dataclass(frozen=True)
class Computed:
    """An axis whose size is an expression of names. `text` is valid Python."""

    text: str
    names: tuple[str, ...]
    tree: ast.expr = field(compare=False, repr=False)
    """Names, integers, `len(name)`, `name[index]`, and `+`, `-`, `*`, `//` of them."""

    @property
    def several(self) -> frozenset[str]:
        """The names that stand for several sizes: those of `len(name)` and `name[index]`."""
        owners = [
            *(n.value for n in ast.walk(self.tree) if isinstance(n, ast.Subscript)),
            *(n.args[0] for n in ast.walk(self.tree) if isinstance(n, ast.Call)),
        ]
        return frozenset(n.id for n in owners if isinstance(n, ast.Name))

    def __str__(self) -> str:
        return self.text

    def evaluate(self, sizes: Sizes) -> int:
        """The size. Raises ShapeMismatch where it is negative or a name has no size."""
        known = {
            name: _variadic_sizes(name, sizes)
            if name in self.several
            else _size(name, sizes)
            for name in self.names
        }
        try:
            value = evaluate(self.tree, known)
        except Unknown as error:
            zero = isinstance(error.__cause__, ZeroDivisionError)
            reason = "divides by zero" if zero else "is too large"
            raise ShapeMismatch(f"{self.text} {reason}") from None
        if value < 0:
            raise ShapeMismatch(f"{self.text} is {value}: a size is not negative")
        return value


@dataclass(frozen=True)
class Anonymous:
    """An axis that nothing is known of."""

    def __str__(self) -> str:
        return "_"


@dataclass(frozen=True)
class AnyAxes:
    """Any number of axes that nothing is known of."""

    def __str__(self) -> str:
        return "..."


Dim: TypeAlias = Named | Variadic | Fixed | Computed | Anonymous | AnyAxes


@dataclass(frozen=True)
class Shape:
    """A sequence of dims.

    Several may be variadic (`*name` or `...`). A shape fits arrays where the number of
    axes of all of them but one is known. With `broadcast` an array may have any shape
    that broadcasts to it.
    """

    dims: tuple[Dim, ...]
    broadcast: bool = False

    def __post_init__(self) -> None:
        if sum(isinstance(d, AnyAxes) for d in self.dims) > 1:
            raise ValueError(f'"{self}" has more than one ...')

    def __str__(self) -> str:
        return " ".join(["#"] * self.broadcast + [*map(str, self.dims)])

    def names(self) -> tuple[str, ...]:
        """The names of axes in order, also variadic ones and those in expressions."""
        return _unique(_dim_names(self.dims))

    @property
    def branches(self) -> tuple[Shape, ...]:
        """The shapes that this may be: itself."""
        return (self,)

    def fields(self) -> tuple[str, ...]:
        """The fields that decide which shape this is: none."""
        return ()

    def resolve(self, fields: Mapping[str, object]) -> Shape:
        """The shape itself: no field changes it."""
        del fields
        return self

    def open(self, sizes: Sizes) -> tuple[Variadic | AnyAxes, ...]:
        """The variadic dims of which `sizes` does not tell the number of axes."""
        return tuple(
            dim
            for dim in self.dims
            if isinstance(dim, AnyAxes)
            or (isinstance(dim, Variadic) and dim.count(sizes) is None)
        )

    def evaluate(self, sizes: Sizes) -> tuple[int, ...]:
        """The sizes of all axes. Raises ShapeMismatch where one is not known."""
        result: list[int] = []
        for dim in self.dims:
            match dim:
                case Named(name):
                    result.append(_size(name, sizes))
                case Variadic(name):
                    result.extend(_variadic_sizes(name, sizes))
                case Fixed(size):
                    result.append(size)
                case Computed():
                    result.append(dim.evaluate(sizes))
                case Anonymous() | AnyAxes():
                    raise ShapeMismatch(f'"{self}" has axes of which nothing is known')
        return tuple(result)

    def bind(
        self, shape: Sequence[int], sizes: Sizes
    ) -> dict[str, int | tuple[int, ...]]:
        """`sizes` and the sizes that `shape` gives to the names that have none yet.

        Raises ShapeMismatch where `shape` does not fit. A name that stands only with
        `#` is bound by a size other than 1; computed axes are compared after all names.
        """
        bound = dict(sizes)
        if self.broadcast:
            self._broadcasts(tuple(shape), bound)
            return bound
        axes = list(self.align(shape, sizes))
        for dim, part in axes:
            match dim:
                case Named(name, broadcast=False):
                    self._agree(name, part[0], bound, shape)
                case Variadic(name):
                    self._agree(name, part, bound, shape)
                case Named(name) if part[0] != 1:
                    self._agree(name, part[0], bound, shape)
                case _:
                    pass
        for dim, part in axes:
            if isinstance(dim, Fixed) and dim.size != part[0]:
                raise self._mismatch(shape, f"expected {dim}, not {part[0]}")
            if isinstance(dim, Computed) and (size := dim.evaluate(bound)) != part[0]:
                raise self._mismatch(shape, f"{dim} is {size}, not {part[0]}")
        return bound

    def _broadcasts(self, shape: tuple[int, ...], sizes: Sizes) -> None:
        """Raise ShapeMismatch unless `shape` broadcasts to the shape of these sizes."""
        full = self.evaluate(sizes)
        pairs = zip(reversed(shape), reversed(full), strict=False)
        if len(shape) > len(full) or any(a not in (1, b) for a, b in pairs):
            raise self._mismatch(shape, f"it does not broadcast to {full}")

    def align(
        self, shape: Sequence[int], sizes: Sizes
    ) -> Iterator[tuple[Dim, tuple[int, ...]]]:
        """Each dim with the axes of `shape` that it stands for.

        Raises ShapeMismatch where it has another number of axes, or where the numbers of
        axes of several dims are not known.
        """
        shape = tuple(shape)
        unknown = self.open(sizes)
        if len(unknown) > 1:
            names = " and ".join(map(str, unknown))
            raise ShapeMismatch(f"the numbers of axes of {names} are not known")
        counts = [
            dim.count(sizes) or 0
            if isinstance(dim, Variadic)
            else int(not isinstance(dim, AnyAxes))
            for dim in self.dims
        ]
        extra = len(shape) - sum(counts)
        if extra < 0 or (extra and not unknown):
            least = "at least " if unknown else ""
            raise self._mismatch(
                shape, f"expected {least}{sum(counts)} axes, not {len(shape)}"
            )
        start = 0
        for dim, count in zip(self.dims, counts, strict=True):
            stop = start + (extra if dim in unknown else count)
            yield dim, shape[start:stop]
            start = stop

    def _agree(
        self,
        name: str,
        value: int | tuple[int, ...],
        bound: dict[str, int | tuple[int, ...]],
        shape: Sequence[int],
    ) -> None:
        if bound.setdefault(name, value) != value:
            raise self._mismatch(shape, f"{name} is {bound[name]}, not {value}")

    def _mismatch(self, shape: Sequence[int], reason: str) -> ShapeMismatch:
        return ShapeMismatch(f'{tuple(shape)} does not fit "{self}": {reason}')


@dataclass(frozen=True)
class Conditional:
    """One shape where the hyperparameter `field` is true, else another."""

    field: str
    if_true: Shape
    if_false: Shape

    def __str__(self) -> str:
        return f"{self.if_true} if {self.field} else {self.if_false}".strip()

    def names(self) -> tuple[str, ...]:
        """The names of axes of both shapes, in order; without `field`."""
        return _unique(self.if_true.names() + self.if_false.names())

    @property
    def branches(self) -> tuple[Shape, ...]:
        """The shapes that this may be."""
        return self.if_true, self.if_false

    def fields(self) -> tuple[str, ...]:
        """The fields that decide which shape this is."""
        return (self.field,)

    def resolve(self, fields: Mapping[str, object]) -> Shape:
        """The shape that holds for these values of the hyperparameters."""
        if self.field not in fields:
            raise ShapeMismatch(f'"{self}" depends on {self.field}, which is not given')
        return self.if_true if fields[self.field] else self.if_false


AnyShape: TypeAlias = Shape | Conditional


def _size(name: str, sizes: Sizes) -> int:
    value = sizes.get(name)
    if value is None:
        raise ShapeMismatch(f"the size of {name} is not known")
    if isinstance(value, tuple):
        raise ShapeMismatch(f"{name} stands for the axes {value}, expected one size")
    return value


def _variadic_sizes(name: str, sizes: Sizes) -> tuple[int, ...]:
    value = sizes.get(name)
    if value is None:
        raise ShapeMismatch(f"the axes *{name} are not known")
    if not isinstance(value, tuple):
        raise ShapeMismatch(f"{name} is one size, {value}, expected a tuple of sizes")
    return value


def _dim_names(dims: Sequence[Dim]) -> Iterator[str]:
    for dim in dims:
        match dim:
            case Named(name) | Variadic(name):
                yield name
            case Computed(names=names):
                yield from names
            case _:
                pass


def _unique(names: Sequence[str] | Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
