"""Statements that check the inputs of a function: kinds, dtypes, shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mlax_scaffold.model.arrays import COMPUTING, KINDS
from mlax_scaffold.model.definition import ArrayType, Definition, Input, Method
from mlax_scaffold.model.shapes import AnyAxes, Conditional, Shape, Variadic


@dataclass(frozen=True)
class InputChecks:
    """Builds the checks of one function.

    `owner` is what messages call it; `sizes` maps each hyperparameter to the expression of its value.
    """

    owner: str
    sizes: Mapping[str, str]
    holder: str = ""
    """What has all of them as attributes; empty where nothing has."""
    counted: tuple[str, ...] = ()
    """Hyperparameters that are axes of the first input."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Inputs that arrive under another name, with that name."""
    absent: Callable[[ArrayType], Iterable[str]] = lambda array: ()
    """The hyperparameters that are sizes of an array, and may be None."""

    def statements(self, inputs: Iterable[Input]) -> list[str]:
        """The checks, as statements: first kinds and dtypes, then shapes."""
        inputs = tuple(inputs)
        kinds = [line for item in inputs for line in self._kind(item)]
        dtypes = [*self._same_dtype(inputs), *self._sizeless(inputs)]
        shapes = self._shapes(inputs)
        return _joined([*kinds, *dtypes, *shapes, *self._has_axes(inputs)])

    def _kind(self, item: Input) -> list[str]:
        arrives = self.given.get(item.name, item.variable)
        given = f"{item.name}={arrives}"
        elements = _elements(item.type)
        if elements:
            # One check for all, or one for each; None would pass none.
            each = [_element(e) for e in elements]
            plain = len({*each}) == 1 and not each[0].startswith("(")
            element = f", {each[0] if plain else _tuple(each)}"
            element = "" if {*each} == {"None"} else element
            keys = item.type.keys
            check, parts = ("entries", keys) if keys else ("items", len(elements))
            line = f"checks.{check}({self.owner!r}, {parts}{element}, {given})"
            if item.type.name and not keys:
                line = f"{item.type.name}(*{line})"
        elif repeated := _repeated(item.type):
            element = _element(repeated)
            if element == "None":
                return []
            line = f"checks.items({self.owner!r}, None, {element}, {given})"
        elif item.type.kind in KINDS:
            line = f"checks.{KINDS[item.type.kind].check}({self.owner!r}, {given})"
        elif item.variable != arrives:
            return [f"{item.variable} = {arrives}"]
        else:
            return []
        line = f"{item.variable} = {line}"
        if item.type.optional:
            unchecked = (
                [] if item.variable == arrives else [f"{item.variable} = {arrives}"]
            )
            return [*unchecked, f"if {arrives} is not None:\n    {line}"]
        return [line]

    def _same_dtype(self, inputs: tuple[Input, ...]) -> list[str]:
        floating = [pair for item in inputs for pair in _floating(item)]
        if len(floating) < 2:
            return []
        given = ", ".join(f"{label}={expression}" for label, expression in floating)
        return [f"checks.same_dtype({self.owner!r}, {given})"]

    def _sizeless(self, inputs: tuple[Input, ...]) -> Iterator[str]:
        """Refuses what may be left out where one of its sizes is None."""
        for item in inputs:
            for name in self.absent(item.type) if item.type.optional else ():
                there = f"{item.variable} is not None and {self.sizes[name]} is None"
                told = f"{self.owner}: {item.name} must be None, as {name} is"
                yield f"if {there}:\n    raise ValueError({told!r})"

    def _has_axes(self, inputs: tuple[Input, ...]) -> list[str]:
        return [
            f"checks.has_axes({self.owner!r}, {inputs[0].variable}.ndim, "
            f"{name}={self.sizes[name]})"
            for name in self.counted
        ]

    def _shapes(self, inputs: tuple[Input, ...]) -> list[str]:
        """The one statement that checks all shapes; none where any shape fits."""
        given = self._constrained(inputs)
        if not given:
            return []
        sizes = self.holder or self._sizes(
            [branch for item in inputs for branch in _branches(item)]
        )
        pairs = [f"{i.name}=({i.variable}, {self._given_shape(i)})" for i in given]
        line = f"checks.shapes({self.owner!r}, {sizes}, {', '.join(pairs)})"
        if self._constrained([item for item in given if not item.type.optional]):
            return [line]
        # What is always there fits by itself.
        there = [f"{item.variable} is not None" for item in given if item.type.optional]
        return [f"if {' or '.join(there)}:\n    {line}"]

    def _constrained(self, inputs: Sequence[Input]) -> list[Input]:
        """The inputs that there are arrays for that do not fit."""
        standing = Counter(
            name
            for item in inputs
            for branch in _branches(item)
            for name in branch.names()
        )
        return [
            item
            for item in inputs
            if any(self._constrains(branch, standing) for branch in _branches(item))
        ]

    def _given_shape(self, item: Input) -> str:
        repeated = _repeated(item.type)
        if repeated is None:
            return self._shape(item.type)
        given = f"{item.variable} or ()" if item.type.optional else item.variable
        return f"({self._shape(repeated)},) * len({given})"

    def _shape(self, array: ArrayType, optional: bool = False) -> str:
        """The expression of a shape: a text, of a tuple a tuple of them; None for any."""
        optional = optional or array.optional
        if array.keys:
            parts = [f"{k!r}: {self._shape(p, optional)}" for k, _, p in array.parts]
            return f"{{{', '.join(parts)}}}"
        if array.items:
            parts = [self._shape(part, optional) for part in _elements(array)]
            return f"({', '.join(parts)},)" if parts else "None"
        if array.shape is None:
            return "None"
        absent = " | None" if optional else ""
        if isinstance(array.shape, Conditional):
            texts = (repr(f"{branch}{absent}") for branch in array.shape.branches)
            return "{0} if {2} else {1}".format(*texts, self.sizes[array.shape.field])
        return repr(f"{array.shape}{absent}")

    def _constrains(self, shape: Shape, standing: Mapping[str, int]) -> bool:
        """Whether there are arrays that a shape does not fit."""
        for dim in shape.dims:
            match dim:
                case AnyAxes():
                    pass
                case Variadic(name):
                    counted = dim.counter(self.sizes) is not None
                    if name in self.sizes or counted or standing[name] > 1:
                        return True
                case _:
                    return True
        return not shape.dims

    def _sizes(self, branches: Iterable[Shape]) -> str:
        """A dict of the sizes that shapes read."""
        names: dict[str, None] = {}
        for branch in branches:
            for dim in branch.dims:
                counter = dim.counter(self.sizes) if isinstance(dim, Variadic) else None
                names |= dict.fromkeys([counter] if counter else [])
            names |= dict.fromkeys(branch.names())
        known = [
            f"{name!r}: {self.sizes[name]}" for name in names if name in self.sizes
        ]
        return f"{{{', '.join(known)}}}"


def _joined(lines: Iterable[str]) -> list[str]:
    """The statements, those in a row that have one condition as one."""
    joined: list[str] = []
    for line in lines:
        head, colon, body = line.partition(":\n")
        if colon and joined and joined[-1].startswith(f"{head}:\n"):
            joined[-1] += f"\n{body}"
        else:
            joined.append(line)
    return joined


def _arrays(array: ArrayType) -> Iterator[ArrayType]:
    """An array, or those in a tuple."""
    yield array
    for part in (*_elements(array), *filter(None, [_repeated(array)])):
        yield from _arrays(part)


def _branches(item: Input) -> list[Shape]:
    """The shapes of all arrays of an input."""
    arrays = _arrays(item.type)
    return [b for array in arrays if array.shape for b in array.shape.branches]


def _floating(item: Input) -> list[tuple[str, str]]:
    """Label and expression of every floating array of an input."""
    return list(_floating_parts(item.name, item.variable, item.type, ""))


def _floating_parts(
    label: str, expression: str, array: ArrayType, guard: str
) -> Iterable[tuple[str, str]]:
    if array.kind in COMPUTING:
        yield label, f"{expression} if {guard} else None" if guard else expression
    if array.optional:
        guard = " and ".join(filter(None, (guard, f"{expression} is not None")))
    if (repeated := _repeated(array)) is not None:
        there = " and ".join(filter(None, (guard, f"len({expression})")))
        yield from _floating_parts(f"{label}_0", f"{expression}[0]", repeated, there)
    for name, at, part in array.parts if _elements(array) else ():
        yield from _floating_parts(f"{label}_{name}", f"{expression}{at}", part, guard)


def _element(array: ArrayType) -> str:
    """What checks the kind of a part of a tuple: for a tuple in it, a tuple of what checks its parts."""
    if array.optional:
        return "None"
    if array.kind in KINDS:
        return f"checks.{KINDS[array.kind].check}"
    # A dictionary in it stays what it is given as.
    parts = [] if array.keys else [*map(_element, _elements(array))]
    if array.name and parts:
        return f"checks.made_of({array.name}, {', '.join(parts)})"
    return "None" if {*parts} <= {"None"} else _tuple(parts)


def _tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _repeated(array: ArrayType) -> ArrayType | None:
    """The array of which a tuple may have any number; None where it is no such tuple."""
    ends = bool(array.items) and array.items[-1].kind == "..."
    # Several before the dots are in no check.
    return array.items[0] if ends and len(array.items) == 2 else None


def _elements(array: ArrayType) -> tuple[ArrayType, ...]:
    """The elements of a tuple; none where there may be any number of them."""
    repeated = any(item.kind == "..." for item in array.items)
    return () if repeated else array.items


def counted_axes(definition: Definition, method: Method) -> tuple[str, ...]:
    """The names of the hyperparameters that are axes of the first input."""
    if not method.inputs or method.inputs[0].type.kind not in KINDS:
        return ()
    given = definition.hyperparameters
    return tuple(h.name for h in given if h.type.word.selects_axes)


def complex_check(
    definition: Definition, method: Method, holder: str = ""
) -> list[str]:
    """The statement that refuses half precision, in which there are no complex numbers.

    Args:
        definition: computes with complex numbers.
        method: whose inputs decide the precision.
        holder: what its hyperparameters are attributes of, with a dot behind it.
    """
    floating = [pair for item in method.positional for pair in _floating(item)]
    plain = [expression for _, expression in floating if " if " not in expression]
    if not plain:
        return []
    declared = [h for h in definition.hyperparameters if h.type.word.declares_dtype]
    given = [f"{plain[0]}.dtype", *(f"{holder}{h.name}" for h in declared)]
    return [f"checks.has_complex({definition.name!r}, {', '.join(given)})"]
