"""Statements that check the inputs of a function: kinds, dtypes, shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.model.definition import ArrayType, Definition, Input, Method
from mlax_scaffold.model.shapes import (
    Anonymous,
    AnyAxes,
    Computed,
    Conditional,
    Fixed,
    Named,
    Shape,
    Variadic,
)
from mlax_scaffold.render.shape_indices import Indices

_KINDS = {"Float": "floating", "Int": "integral", "Bool": "logical"}


@dataclass
class InputChecks:
    """Builds the checks of one function.

    `owner` is what messages call it; `sizes` maps each hyperparameter to the expression of its value.
    """

    owner: str
    sizes: Mapping[str, str]
    optional: frozenset[str] = frozenset()
    """Hyperparameters that may be None: then a `*name` of that name is of any axes."""
    counted: tuple[str, ...] = ()
    """Hyperparameters that are axes of the first input."""
    axes: dict[str, str] = field(default_factory=dict)
    """Expressions of the axes that earlier inputs have bound."""
    branches: dict[tuple[str, bool], dict[str, str]] = field(default_factory=dict)
    """Those that conditional shapes have bound, where a hyperparameter is true, or is not."""

    def statements(self, inputs: Iterable[Input]) -> list[str]:
        """The checks, as statements: first kinds and dtypes, then shapes."""
        inputs = tuple(inputs)
        kinds = [line for item in inputs for line in self._kind(item)]
        shapes = [line for item in inputs for line in self._shapes(item)]
        return [*kinds, *self._same_dtype(inputs), *shapes, *self._has_axes(inputs)]

    def _kind(self, item: Input) -> list[str]:
        given = f"{item.name}={item.name}"
        elements = _elements(item.type)
        if elements:
            # One check for all, which None would not pass.
            kinds = {None if e.optional else e.kind for e in elements}
            check = _KINDS.get(kinds.pop() or "") if len(kinds) == 1 else None
            element = f", checks.{check}" if check else ""
            line = f"checks.items({self.owner!r}, {len(elements)}{element}, {given})"
        elif item.type.kind in _KINDS:
            line = f"checks.{_KINDS[item.type.kind]}({self.owner!r}, {given})"
        else:
            return []
        line = f"{item.name} = {line}"
        if item.type.optional:
            return [f"if {item.name} is not None:\n    {line}"]
        return [line]

    def _same_dtype(self, inputs: tuple[Input, ...]) -> list[str]:
        floating = [pair for item in inputs for pair in _floating(item)]
        if len(floating) < 2:
            return []
        given = ", ".join(f"{label}={expression}" for label, expression in floating)
        return [f"checks.same_dtype({self.owner!r}, {given})"]

    def _has_axes(self, inputs: tuple[Input, ...]) -> list[str]:
        return [
            f"checks.has_axes({self.owner!r}, {inputs[0].name}.ndim, "
            f"{name}={self.sizes[name]})"
            for name in self.counted
        ]

    def _shapes(self, item: Input) -> list[str]:
        return list(self._array(item.name, item.type, ""))

    def _array(self, expression: str, array: ArrayType, guard: str) -> Iterable[str]:
        """Checks of an array, or of the arrays in a tuple, where `guard` holds."""
        if array.optional:
            guard = " and ".join(filter(None, (guard, f"{expression} is not None")))
        before = dict(self.axes)
        for i, part in enumerate(_elements(array)):
            yield from self._array(f"{expression}[{i}]", part, guard)
        if isinstance(array.shape, Conditional):
            switch = self.sizes[array.shape.field]
            yield from self._branches(
                expression, array.shape, switch, guard, array.optional
            )
            # Which axes they are depends on the branch.
            self.axes = before
        elif array.shape is not None:
            yield from self._shape(expression, array.shape, guard)
        if array.optional:
            self.axes = before

    def _branches(
        self,
        expression: str,
        shape: Conditional,
        switch: str,
        guard: str,
        optional: bool,
    ) -> Iterable[str]:
        before = dict(self.axes)
        known = [
            before | self.branches.get((shape.field, value), {})
            for value in (True, False)
        ]
        if shape.if_true.broadcast or shape.if_false.broadcast:
            self.axes = known[0]
            yield from self._shape(expression, shape.if_true, _both(guard, switch))
            self.axes = known[1]
            yield from self._shape(
                expression, shape.if_false, _both(guard, f"not {switch}")
            )
            return
        checks = []
        for value, branch, axes in zip(
            (True, False), (shape.if_true, shape.if_false), known, strict=True
        ):
            self.axes = dict(axes)
            checks.append(self._conditions(expression, branch))
            if not optional:
                self.branches[shape.field, value] = self.axes
        if checks[0] == checks[1]:
            texts = (shape_text(branch) for branch in (shape.if_true, shape.if_false))
            text = "{0!r} if {2} else {1!r}".format(*texts, switch)
            yield from self._raise(expression, text, guard, *checks[0])
            return
        for condition, branch, check in (
            (switch, shape.if_true, checks[0]),
            (f"not {switch}", shape.if_false, checks[1]),
        ):
            both = _both(guard, condition)
            yield from self._raise(expression, repr(shape_text(branch)), both, *check)

    def _shape(self, expression: str, shape: Shape, guard: str) -> Iterable[str]:
        if shape.broadcast:
            call = (
                f"checks.broadcasts({self.owner!r}, {expression!r}, "
                f"{shape_text(shape)!r}, {expression}, ({self._target(shape)}))"
            )
            yield f"if {guard}:\n    {call}" if guard else call
            return
        checks = self._conditions(expression, shape)
        yield from self._raise(expression, repr(shape_text(shape)), guard, *checks)

    def _raise(
        self,
        expression: str,
        text: str,
        guard: str,
        conditions: list[str],
        shown: Mapping[str, str],
    ) -> Iterable[str]:
        """The check that raises where one of the conditions holds."""
        if not conditions:
            return
        test = " or ".join(conditions)
        if guard:
            test = (
                f"{guard} and ({test})"
                if len(conditions) > 1
                else f"{guard} and {test}"
            )
        sizes = "".join(f", {name}={value}" for name, value in shown.items())
        yield (
            f"if {test}:\n"
            f"    raise checks.shape_error({self.owner!r}, {expression!r}, "
            f"{text}, {expression}{sizes})"
        )

    def _conditions(
        self, expression: str, shape: Shape
    ) -> tuple[list[str], dict[str, str]]:
        indices = Indices(shape, self._counts(shape))
        conditions: list[str] = []
        if indices.open:
            if indices.total != "0":
                conditions.append(f"{expression}.ndim < {indices.total}")
        else:
            conditions.append(f"{expression}.ndim != {indices.total}")
        shown = {n: self.sizes[n] for n in self._counters(shape)}
        for i, dim in enumerate(shape.dims):
            match dim:
                case Fixed():
                    actual = f"{expression}.shape[{indices.of(i)}]"
                    conditions.append(f"{actual} != {dim.size}")
                case Named():
                    actual = f"{expression}.shape[{indices.of(i)}]"
                    self._named(dim.name, dim.broadcast, actual, conditions, shown)
                case Computed():
                    wanted = self._computed(dim)
                    if wanted is not None:
                        actual = f"{expression}.shape[{indices.of(i)}]"
                        conditions.append(f"{actual} != {wanted}")
                        shown |= {n: self._known(n) or "" for n in dim.names}
                case Variadic():
                    part = indices.slice(i, expression)
                    actual = f"{expression}.shape{part and f'[{part}]'}"
                    self._variadic(dim, actual, conditions, shown)
        return conditions, shown

    def _target(self, shape: Shape) -> str:
        """The sizes that an array broadcasts to; None for one that nothing is known of."""
        parts: list[str] = []
        for dim in shape.dims:
            match dim:
                case Fixed(size):
                    parts.append(str(size))
                case Named(name):
                    parts.append(self._known(name) or "None")
                case Computed():
                    parts.append(self._computed(dim) or "None")
                case Variadic(name):
                    axes = self.axes.get(name)
                    parts.append(f"*{axes}" if axes else "...")
                case AnyAxes():
                    parts.append("...")
                case Anonymous():
                    parts.append("None")
        return "".join(f"{part}, " for part in parts)

    def _counts(self, shape: Shape) -> dict[str, str]:
        """For each `*name`, the expression of its number of axes, where that is known."""
        variadic = [d for d in shape.dims if isinstance(d, Variadic | AnyAxes)]
        counts: dict[str, str] = {}
        measured: list[str] = []
        for dim in variadic:
            if isinstance(dim, AnyAxes):
                continue
            axes, counter = self._known(dim.name), dim.counter(self.sizes)
            if axes is not None:
                counts[dim.name] = f"len({axes})"
                measured.append(dim.name)
            elif counter is not None:
                counts[dim.name] = self.sizes[counter]
        if measured and len(counts) == len(variadic):
            # That its axes are those which are known implies their number.
            del counts[measured[0]]
        return counts

    def _counters(self, shape: Shape) -> list[str]:
        """The hyperparameters that say how many axes there are."""
        variadic = [dim for dim in shape.dims if isinstance(dim, Variadic)]
        counters = [
            dim.counter(self.sizes) for dim in variadic if self._known(dim.name) is None
        ]
        return [name for name in counters if name is not None]

    def _known(self, name: str) -> str | None:
        given = None if name in self.optional else self.sizes.get(name)
        return given or self.axes.get(name)

    def _named(
        self,
        name: str,
        broadcast: bool,
        actual: str,
        conditions: list[str],
        shown: dict[str, str],
    ) -> None:
        wanted = self._known(name)
        if wanted is None:
            if not broadcast:
                self.axes[name] = actual
            return
        shown[name] = wanted
        if broadcast:
            conditions.append(f"{actual} not in (1, {wanted})")
        else:
            conditions.append(f"{actual} != {wanted}")

    def _computed(self, dim: Computed) -> str | None:
        names = {name: self._known(name) for name in dim.names}
        if None in names.values():
            return None
        return re.sub(r"[A-Za-z_]\w*", lambda m: names[m.group()] or "", dim.text)

    def _variadic(
        self,
        dim: Variadic,
        actual: str,
        conditions: list[str],
        shown: dict[str, str],
    ) -> None:
        if dim.name not in self.axes and dim.name in self.optional:
            given = self.sizes[dim.name]
            conditions.append(f"({given} is not None and {actual} != {given})")
            shown[dim.name] = given
        wanted = self._known(dim.name)
        if wanted is None:
            self.axes[dim.name] = actual
            return
        shown[dim.name] = wanted
        conditions.append(f"{actual} != {wanted}")


def _both(guard: str, condition: str) -> str:
    return " and ".join(filter(None, (guard, condition)))


def _floating(item: Input) -> list[tuple[str, str]]:
    """Label and expression of every floating array of an input."""
    return list(_floating_parts(item.name, item.name, item.type, ""))


def _floating_parts(
    label: str, expression: str, array: ArrayType, guard: str
) -> Iterable[tuple[str, str]]:
    if array.kind == "Float":
        yield label, f"{expression} if {guard} else None" if guard else expression
    if array.optional:
        guard = " and ".join(filter(None, (guard, f"{expression} is not None")))
    for i, part in enumerate(_elements(array)):
        yield from _floating_parts(f"{label}_{i}", f"{expression}[{i}]", part, guard)


def _elements(array: ArrayType) -> tuple[ArrayType, ...]:
    """The elements of a tuple; none where there may be any number of them."""
    repeated = any(item.kind == "..." for item in array.items)
    return () if repeated else array.items


def counted_axes(definition: Definition, method: Method) -> tuple[str, ...]:
    """The names of the hyperparameters that are axes of the first input."""
    if not method.inputs or method.inputs[0].type.kind not in _KINDS:
        return ()
    given = definition.hyperparameters
    return tuple(h.name for h in given if h.type.word.name == "Axis")


def shape_text(shape: Shape) -> str:
    """A shape as messages and documentation show it: `(*batch, in_features)`."""
    parts = [str(dim) for dim in shape.dims]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
