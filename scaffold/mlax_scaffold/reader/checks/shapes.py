"""Checks that the names in shapes mean something: a hyperparameter, or an axis of an input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import (
    ArrayType,
    Definition,
    Method,
    Role,
)
from mlax_scaffold.model.shapes import Computed, Conditional, Named, Shape, Variadic
from mlax_scaffold.spelling import did_you_mean

_SIZE_HINT = "Write `...` for the axes, and check their sizes with `require`."


def check_shapes(definition: Definition) -> list[Diagnostic]:
    """Every finding in the shapes of a definition."""
    found: list[Diagnostic] = []
    for method in definition.entries:
        found += _Checker(definition, method).check()
    return found


_OF_ONE_AXIS = ("channel", "dim", "feature", "head", "unit")
"""What one axis has many of: a field called so is a slip. Of a `frame` a result may have several `frames`."""
_OF_THE_FIELD = frozenset(("batch", "height", "length", "time", "width"))
"""What axes are called: no slip, however close to a hyperparameter such as `patch`."""


class _Checker:
    def __init__(self, definition: Definition, method: Method):
        self.definition = definition
        self.method = method
        self.sizes = [
            h.name
            for h in definition.hyperparameters
            if h.type.word.names == "axis" and not (h.type.per_dim or h.type.sequence)
        ]
        self.tuples = [
            h.name
            for h in definition.hyperparameters
            if (h.type.word.names == "axes" and not h.type.optional) or h.type.per_dim
        ]
        self.absent = [
            h.name
            for h in definition.hyperparameters
            if h.name in (*self.sizes, *self.tuples) and h.type.optional
        ]
        self.sequences = [
            h.name
            for h in definition.hyperparameters
            if h.type.sequence and h.type.word.names == "axis" and not h.type.optional
        ]
        """Integers, of which there may be as many as an axis is long."""
        self.number: dict[str, bool] = {}
        """Whether a name of the types so far is any number of axes."""
        self.derived = [d.name for d in definition.declared(Role.DERIVED)]
        self.switches = [
            h.name for h in definition.hyperparameters if h.type.word.names == "switch"
        ]

    def check(self) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        bound: set[str] = set()
        # Names of axes, of which there are as many as an input has that is always there.
        counted: set[str] = set()
        for item in self.method.inputs:
            for array, shape, present in _shaped(item.type):
                found += self._switch(array)
                found += self._several(array)
                found += self._one_or_several(array)
                found += self._counts(array, counted)
                for name in shape.names():
                    if name in self.absent and name in self.tuples:
                        found.append(self._at(array, name, "may be None", _SIZE_HINT))
                    # `channels` is one of `in_channels`, which are several, and no `out_channels`;
                    # `in_features` beside a field `features` is another axis, and so is
                    # `head` in `heads head`.
                    near = _others([*self.sizes, *self.tuples], name, shape)
                    close = did_you_mean(name, near, cutoff=0.8)
                    if (
                        not self._known(name)
                        and name not in _OF_THE_FIELD
                        and close
                        and not _one_of(name, self.tuples)
                    ):
                        found.append(
                            self._at(array, name, "names no hyperparameter", close)
                        )
                    if not _only_broadcast(shape):
                        bound.add(name)
                if present and isinstance(shape, Shape) and not shape.broadcast:
                    counted.update(d.name for d in _variadic(shape))
        if self.method.returns is not None:
            for array, shape, _ in _shaped(self.method.returns):
                found += self._switch(array)
                found += self._several(array)
                found += self._one_or_several(array)
                known_names = bound | self._counted(shape)
                free = _free(shape)
                open_ = {d.name for part in shape.branches for d in _variadic(part)}
                open_ = {
                    n for n in open_ if n not in known_names and not self._known(n)
                }
                if len(open_) > 1:
                    free -= open_
                for name in shape.names():
                    if name in known_names or self._known(name):
                        continue
                    known = [*self.sizes, *self.tuples, *bound]
                    near = [
                        n
                        for n in _others(known, name, shape)
                        if name != f"{n}s" or n.endswith(_OF_ONE_AXIS)
                    ]
                    if name in free and not did_you_mean(name, near, cutoff=0.8):
                        continue  # of any size, with a name for the reader
                    message = "names neither a hyperparameter nor an axis of an input"
                    other = (
                        "Write `_` for an axis, `...` for several, that depend on more."
                    )
                    hint = did_you_mean(name, known) or other
                    found.append(self._at(array, name, message, hint))
        return found

    def _one_or_several(self, array: ArrayType) -> Iterator[Diagnostic]:
        """Findings where a name is one axis in one type, and any number of them in another."""
        for part in array.branches:
            several = {dim.name for dim in _variadic(part)}
            for name in part.names():
                if self._known(name):
                    continue
                if self.number.setdefault(name, name in several) == (name in several):
                    continue
                here, there = f"`{name}`", f"`*{name}`"
                if name in several:
                    here, there = there, here
                yield self._at(
                    array,
                    name,
                    f"is one axis, and `*{name}` is any number of them",
                    f"This type has {here}, and another one {there}. Give one of them another "
                    f"name, such as `*{'axes' if name != 'axes' else 'leading'}`.",
                )

    def _known(self, name: str) -> bool:
        several = (*self.tuples, *self.sequences, *self.derived)
        return name in self.sizes or name in several

    def _counted(self, shape: Shape | Conditional) -> set[str]:
        """Names of axes of which a hyperparameter says how many there are."""
        given = [name for name in self.sizes if name not in self.absent]
        dims = [dim for part in shape.branches for dim in _variadic(part)]
        return {dim.name for dim in dims if dim.counter(given) is not None}

    def _several(self, array: ArrayType) -> Iterator[Diagnostic]:
        """Findings where one axis is named as several, or several as one."""
        for part in array.branches:
            counted = _counted_names(part)
            for name in part.names():
                variadic = name in {dim.name for dim in _variadic(part)}
                if name in counted:
                    if name in (*self.tuples, *self.sequences, *self.derived):
                        continue
                    message, hint = (
                        "is not several sizes",
                        "Name a `Sizes` or a `Shape`.",
                    )
                elif variadic and name in self.sizes:
                    message, hint = "is the size of one axis", f"Write `{name}`."
                elif not variadic and name in self.tuples:
                    message, hint = "is the sizes of several axes", f"Write `*{name}`."
                else:
                    continue
                yield self._at(array, name, message, hint)

    def _counts(self, array: ArrayType, counted: set[str]) -> Iterator[Diagnostic]:
        """A finding where several names stand for any number of axes each."""
        tuples = {*self.tuples, *self.derived, *counted}
        given = [name for name in self.sizes if name not in self.absent]
        sizes = dict.fromkeys(given, 1) | dict.fromkeys(tuples, ())
        for part in array.branches:
            dims = part.open(sizes)
            named = [dim for dim in dims if isinstance(dim, Variadic)]
            if len(dims) > 1:
                last = named[-1]
                other = next(dim for dim in dims if dim is not last)
                yield self._at(
                    array,
                    last.name,
                    f"is any number of axes, and `{other}` is too",
                    "The number has to be known of all but one: add a hyperparameter "
                    f"`{last.counters[0]}: Size`, or take a name of an input before this one.",
                )

    def _switch(self, array: ArrayType) -> list[Diagnostic]:
        shape = array.shape
        if not isinstance(shape, Conditional) or shape.field in self.switches:
            return []
        hint = did_you_mean(shape.field, self.switches) or "Add `field: bool = False`."
        return [self._at(array, shape.field, "is no hyperparameter of type bool", hint)]

    def _at(self, array: ArrayType, name: str, message: str, hint: str) -> Diagnostic:
        """A finding at a name of a shape."""
        place = dict(array.places)[name]
        return self.definition.finding(f"`{name}` {message}", hint, place, len(name))


def _one_of(name: str, several: Iterable[str]) -> bool:
    """Whether an axis is called like one of what a field has several of: `width` beside `widths`."""
    return bool({f"{name}s", f"{name}es"} & {*several})


def _others(known: Iterable[str], name: str, shape: Shape | Conditional) -> list[str]:
    """The names that another one may be a slip of: none that it extends, nor its plural beside it."""
    plural = f"{name}s" if f"{name}s" in shape.names() else ""
    return [n for n in known if n != plural and not _extends(name, n)]


def _extends(name: str, other: str) -> bool:
    """Whether one name has the words of the other and more, as `features` and `in_features`, or a number."""
    if name.rstrip("0123456789") == other:
        return True
    words, others = {*name.split("_")}, {*other.split("_")}
    return words < others or others < words


def _only_broadcast(shape: Shape | Conditional) -> bool:
    """Whether an array of that shape gives no axis a size."""
    return isinstance(shape, Shape) and shape.broadcast


def _shaped(
    array: ArrayType, present: bool = True
) -> Iterator[tuple[ArrayType, Shape | Conditional, bool]]:
    """The arrays in a type that have a shape, each with whether it is always there."""
    present = present and not array.optional
    if array.shape is not None:
        yield array, array.shape, present
    for item in array.items:
        yield from _shaped(item, present)


def _free(shape: Shape | Conditional) -> set[str]:
    """The names in a shape that stand for an axis, or for any number of them, and for nothing else."""
    dims = [dim for part in shape.branches for dim in part.dims]
    plain = [d for d in dims if isinstance(d, Named) and not d.broadcast]
    plain += [d for d in dims if isinstance(d, Variadic)]
    names = [dim.name for dim in plain]
    others = [dim for dim in dims if not isinstance(dim, Named | Variadic)]
    return set(names) - {n for dim in others for n in Shape((dim,)).names()}


def _counted_names(shape: Shape) -> frozenset[str]:
    """The names whose number, or one of whose sizes, is that of an axis."""
    counted = [dim.several for dim in shape.dims if isinstance(dim, Computed)]
    return frozenset().union(*counted)


def _variadic(shape: Shape) -> list[Variadic]:
    return [dim for dim in shape.dims if isinstance(dim, Variadic)]
