"""Statements that check the inputs of a function: kinds, dtypes, shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.model.definition import ArrayType, Input
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

_KINDS = {"Float": "floating", "Int": "integral", "Bool": "logical"}


@dataclass
class InputChecks:
    """Builds the checks of one function.

    `owner` is what messages call it; `sizes` maps each hyperparameter to the expression of its value.
    """

    owner: str
    sizes: Mapping[str, str]
    shapes: Mapping[str, bool] = field(default_factory=dict)
    """Hyperparameters that are shapes, and whether each may be None: the axes of a `*name`."""
    axes: dict[str, str] = field(default_factory=dict)
    """Expressions of the axes that earlier inputs have bound."""

    def statements(self, inputs: Iterable[Input]) -> list[str]:
        """The checks, as statements: first kinds and dtypes, then shapes."""
        inputs = tuple(inputs)
        kinds = [line for item in inputs for line in self._kind(item)]
        shapes = [line for item in inputs for line in self._shapes(item)]
        return [*kinds, *self._same_dtype(inputs), *shapes]

    def _kind(self, item: Input) -> list[str]:
        given = f"{item.name}={item.name}"
        elements = _elements(item.type)
        if elements:
            line = f"checks.items({self.owner!r}, {len(elements)}, {given})"
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
            branches = (
                (switch, array.shape.if_true),
                (f"not {switch}", array.shape.if_false),
            )
            for condition, shape in branches:
                both = " and ".join(filter(None, (guard, condition)))
                yield from self._shape(expression, shape, both)
                # Which axes they are depends on the branch.
                self.axes = dict(before)
        elif array.shape is not None:
            yield from self._shape(expression, array.shape, guard)
        if array.optional:
            self.axes = before

    def _shape(self, expression: str, shape: Shape, guard: str) -> Iterable[str]:
        if shape.broadcast:
            call = (
                f"checks.broadcasts({self.owner!r}, {expression!r}, "
                f"{shape_text(shape)!r}, {expression}, ({self._target(shape)}))"
            )
            yield f"if {guard}:\n    {call}" if guard else call
            return
        conditions, shown = self._conditions(expression, shape)
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
            f"{shape_text(shape)!r}, {expression}{sizes})"
        )

    def _conditions(
        self, expression: str, shape: Shape
    ) -> tuple[list[str], dict[str, str]]:
        dims = shape.dims
        many = [i for i, d in enumerate(dims) if isinstance(d, Variadic | AnyAxes)]
        count = len(dims) - len(many)
        conditions: list[str] = []
        counted = "spatial_dims" in self.sizes and any(
            isinstance(d, Variadic) and d.name == "spatial" for d in dims
        )
        if counted:
            axes = f"{self.sizes['spatial_dims']} + {count}"
            conditions.append(f"{expression}.ndim != {axes}")
        elif not many:
            conditions.append(f"{expression}.ndim != {count}")
        elif count:
            conditions.append(f"{expression}.ndim < {count}")
        shown: dict[str, str] = {}
        if counted:
            shown["spatial_dims"] = self.sizes["spatial_dims"]
        for i, dim in enumerate(dims):
            after = bool(many) and i > many[0]
            index = i - len(dims) if after else i
            actual = f"{expression}.shape[{index}]"
            match dim:
                case Fixed():
                    conditions.append(f"{actual} != {dim.size}")
                case Named():
                    self._named(dim.name, dim.broadcast, actual, conditions, shown)
                case Computed():
                    wanted = self._computed(dim)
                    if wanted is not None:
                        conditions.append(f"{actual} != {wanted}")
                        shown |= {n: self._known(n) or "" for n in dim.names}
                case Variadic():
                    left = str(i) if i else ""
                    right = str(i + 1 - len(dims)) if i + 1 < len(dims) else ""
                    actual = f"{expression}.shape[{left}:{right}]"
                    if not left and not right:
                        actual = f"{expression}.shape"
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

    def _known(self, name: str) -> str | None:
        return self.sizes.get(name) or self.axes.get(name)

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
        if dim.name not in self.axes and dim.name in self.shapes:
            given = self.sizes[dim.name]
            condition = f"{actual} != {given}"
            if self.shapes[dim.name]:
                condition = f"({given} is not None and {condition})"
            conditions.append(condition)
            shown[dim.name] = given
        wanted = self.axes.get(dim.name)
        if wanted is None:
            self.axes[dim.name] = actual
            return
        shown[dim.name] = wanted
        conditions.append(f"{actual} != {wanted}")


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


def shape_text(shape: Shape) -> str:
    """A shape as messages and documentation show it: `(*batch, in_features)`."""
    parts = [str(dim) for dim in shape.dims]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
