"""Where the axes of a shape are, as expressions of generated code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.model.shapes import AnyAxes, Dim, Shape, Variadic


@dataclass(frozen=True)
class Indices:
    """Where the axes of a shape are: expressions of indices and slices.

    `counts` has the expression of the number of axes of each `*name`, where it is known.
    """

    shape: Shape
    counts: Mapping[str, str]

    @property
    def open(self) -> bool:
        """Whether a number of axes is not known."""
        return any(self._unknown(dim) for dim in self.shape.dims)

    @property
    def total(self) -> str:
        """The number of axes, but for the one number that is not known."""
        return self._sum(self.shape.dims)

    def of(self, i: int) -> str:
        """The index of a dim that is one axis: from the end where that says less."""
        before, after = self.shape.dims[:i], self.shape.dims[i:]
        from_end = any(map(self._unknown, before)) or (
            any(map(self._variadic, before)) and not any(map(self._variadic, after))
        )
        return self._negative(after) if from_end else self._sum(before)

    def slice(self, i: int, array: str) -> str:
        """The text between the brackets that take the axes of a `*name`; empty for all."""
        before, after = self.shape.dims[:i], self.shape.dims[i + 1 :]
        if any(map(self._unknown, before)):
            start = self._from_end(self.shape.dims[i:], array)
        else:
            start = self._sum(before) if before else ""
        if not after:
            stop = ""
        elif any(map(self._unknown, after)):
            stop = self._sum(self.shape.dims[: i + 1])
        else:
            stop = self._from_end(after, array)
        return f"{start}:{stop}" if start or stop else ""

    def _from_end(self, dims: Sequence[Dim], array: str) -> str:
        """Where the last dims start. With no axes of its own, -0 would be the first axis."""
        if any(not self._variadic(dim) for dim in dims):
            return self._negative(dims)
        return " - ".join([f"{array}.ndim", *self._numbers(dims)])

    def _negative(self, dims: Sequence[Dim]) -> str:
        numbers = self._numbers(dims)
        return " - ".join([f"-{len(dims) - len(numbers)}", *numbers])

    def _sum(self, dims: Sequence[Dim]) -> str:
        """The number of axes of the dims, but for those of an unknown number."""
        numbers = self._numbers(dims)
        ones = sum(not self._variadic(dim) for dim in dims)
        return " + ".join([*numbers, *([str(ones)] if ones or not numbers else [])])

    def _numbers(self, dims: Sequence[Dim]) -> list[str]:
        """The numbers of axes of the variadic dims, where they are known."""
        names = [dim.name for dim in dims if isinstance(dim, Variadic)]
        return [self.counts[name] for name in names if name in self.counts]

    def _unknown(self, dim: Dim) -> bool:
        return self._variadic(dim) and getattr(dim, "name", None) not in self.counts

    @staticmethod
    def _variadic(dim: Dim) -> bool:
        return isinstance(dim, Variadic | AnyAxes)
