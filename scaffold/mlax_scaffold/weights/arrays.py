"""Arrays of a checkpoint, rearranged: expressions that can be printed, read and computed."""

from __future__ import annotations

import ast
import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlax_scaffold.spelling import did_you_mean

Shape = tuple[int, ...]
Number = int | float


@dataclass(frozen=True)
class Given:
    """An array of the checkpoint, by its name there."""

    name: str

    def __str__(self) -> str:
        return json.dumps(self.name, ensure_ascii=False)


@dataclass(frozen=True)
class Call:
    """An operation, the expressions that it takes, and numbers: axes, sizes, places."""

    operation: str
    operands: tuple[Expression, ...]
    numbers: tuple[Number, ...] = ()

    def __str__(self) -> str:
        written = [*map(str, self.operands), *map(repr, self.numbers)]
        return f"{self.operation}({', '.join(written)})"


Expression = Given | Call


@dataclass(frozen=True)
class Operation:
    """One row: how many expressions and numbers it takes (None: any), and what it does."""

    operands: int | None
    numbers: int | None
    compute: Callable[..., np.ndarray]
    doc: str


OPERATIONS = {
    "transpose": Operation(
        1, None, lambda x, *axes: np.transpose(x, axes), "axes in that order"
    ),
    "reshape": Operation(
        1, None, lambda x, *sizes: np.reshape(x, sizes), "the same elements"
    ),
    "flip": Operation(1, None, lambda x, *axes: np.flip(x, axes), "axes reversed"),
    "part": Operation(
        1,
        3,
        lambda x, axis, start, stop: x[(slice(None),) * axis + (slice(start, stop),)],
        "of an axis, from a place up to another",
    ),
    "pick": Operation(
        1, 2, lambda x, axis, i: np.take(x, i, axis), "of an axis, the one at a place"
    ),
    "concat": Operation(
        None,
        1,
        lambda *given: np.concatenate(given[:-1], given[-1]),
        "along an axis",
    ),
    "stack": Operation(
        None, 1, lambda *given: np.stack(given[:-1], given[-1]), "along a new axis"
    ),
    "each": Operation(
        1,
        2,
        lambda *given: np.stack(given),
        "arrays whose names have a number for {}, from one up to another, stacked",
    ),
    "add": Operation(None, 0, lambda *given: functools.reduce(np.add, given), "a sum"),
    "shift": Operation(
        1, 1, lambda x, number: x + np.asarray(number, x.dtype), "a number is added"
    ),
    "negate": Operation(1, 0, np.negative, "minus"),
    "zeros": Operation(
        0, None, lambda *sizes: np.zeros(sizes, np.float32), "of these sizes"
    ),
}


def names_in(expression: Expression) -> Iterator[str]:
    """The names of the checkpoint's arrays in an expression."""
    if isinstance(expression, Given):
        yield expression.name
    elif expression.operation == "each":
        [short], numbers = expression.operands, range(*map(int, expression.numbers))
        name = short.name if isinstance(short, Given) else ""
        yield from (name.replace("{}", str(n), 1) for n in numbers)
    else:
        for operand in expression.operands:
            yield from names_in(operand)


def compute(expression: Expression, arrays: Mapping[str, Any]) -> np.ndarray:
    """The array that an expression stands for.

    Raises:
        KeyError: where one of its names is not there.
        ValueError: where an array does not fit an operation.
    """
    if isinstance(expression, Given):
        return np.asarray(arrays[expression.name])
    row, numbers = OPERATIONS[expression.operation], expression.numbers
    if expression.operation == "each":
        operands, numbers = [np.asarray(arrays[n]) for n in names_in(expression)], ()
    else:
        operands = [compute(operand, arrays) for operand in expression.operands]
    try:
        found = row.compute(*operands, *numbers)
    except (ValueError, IndexError, TypeError) as error:
        shapes = ", ".join(str(list(operand.shape)) for operand in operands)
        raise ValueError(f"{expression} does not fit {shapes}: {error}") from error
    return np.asarray(found)


def parse(text: str) -> Expression:
    """An expression from its text.

    Raises:
        ValueError: where it is none; the text says what is wrong.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is no expression: {error}") from error
    return _parsed(tree.body, text)


def _parsed(node: ast.expr, text: str) -> Expression:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return Given(node.value)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise ValueError(
            f"{text!r}: expected the name of an array in quotes, or an operation: "
            + ", ".join(OPERATIONS)
        )
    name = node.func.id
    if name not in OPERATIONS:
        hint = did_you_mean(name, list(OPERATIONS)) or "there are " + ", ".join(
            OPERATIONS
        )
        raise ValueError(f"{text!r}: there is no operation {name!r}; {hint}")
    row = OPERATIONS[name]
    numbers = [n for n in map(_number, node.args) if n is not None]
    operands = [_parsed(a, text) for a in node.args if _number(a) is None]
    in_order = all(_number(a) is None for a in node.args[: len(operands)])
    if node.keywords or not in_order:
        raise ValueError(
            f"{text!r}: {name} takes arrays, and then numbers, without names"
        )
    for wanted, given, what in (
        (row.operands, operands, "arrays"),
        (row.numbers, numbers, "numbers"),
    ):
        if wanted is None and (operands or row.operands == 0):
            continue
        if wanted != len(given):
            raise ValueError(
                f"{text!r}: {name} takes {'some' if wanted is None else wanted} {what}, "
                f"got {len(given)}"
            )
    if name != "shift" and not all(isinstance(n, int) for n in numbers):
        raise ValueError(f"{text!r}: axes, sizes and places are integers")
    if name == "each" and not (
        isinstance(operands[0], Given)
        and "{}" in operands[0].name
        and numbers[0] < numbers[1]
    ):
        raise ValueError(
            f"{text!r}: each takes a name with {{}} in it, the first number, and the one "
            "after the last"
        )
    return Call(name, tuple(operands), tuple(numbers))


def _number(node: ast.expr) -> Number | None:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return sign * node.value  # pyright: ignore[reportOperatorIssue, reportReturnType]
    return None


@dataclass(frozen=True)
class Shaped:
    """An expression with its shape: what recipes rearrange."""

    expression: Expression
    shape: Shape

    def transposed(self, *axes: int) -> Shaped:
        """With its axes in that order."""
        if axes == tuple(range(len(self.shape))):
            return self
        return self._called("transpose", axes, tuple(self.shape[a] for a in axes))

    def reshaped(self, shape: Shape) -> Shaped:
        """With the same elements in that shape."""
        return self if shape == self.shape else self._called("reshape", shape, shape)

    def flipped(self, *axes: int) -> Shaped:
        """With axes reversed."""
        return self._called("flip", axes, self.shape) if axes else self

    def part(self, axis: int, start: int, stop: int) -> Shaped:
        """What lies between two places of an axis."""
        if (start, stop) == (0, self.shape[axis]):
            return self
        shape = (*self.shape[:axis], stop - start, *self.shape[axis + 1 :])
        return self._called("part", (axis, start, stop), shape)

    def picked(self, index: int, axis: int = 0) -> Shaped:
        """One of what is stacked along an axis."""
        shape = (*self.shape[:axis], *self.shape[axis + 1 :])
        return self._called("pick", (axis, index), shape)

    def shifted(self, number: float) -> Shaped:
        """With a number added."""
        return self._called("shift", (number,), self.shape) if number else self

    def negated(self) -> Shaped:
        """With the other sign."""
        return self._called("negate", (), self.shape)

    def plus(self, other: Shaped) -> Shaped:
        """The sum of two of the same shape."""
        call = Call("add", (self.expression, other.expression))
        return Shaped(call, self.shape)

    def _called(self, name: str, numbers: Sequence[Number], shape: Shape) -> Shaped:
        return Shaped(Call(name, (self.expression,), tuple(numbers)), shape)


def concat(parts: Sequence[Shaped], axis: int) -> Shaped:
    """Beside each other along an axis."""
    first = parts[0].shape
    size = sum(part.shape[axis] for part in parts)
    shape = (*first[:axis], size, *first[axis + 1 :])
    call = Call("concat", tuple(part.expression for part in parts), (axis,))
    return Shaped(call, shape)


def zeros(*sizes: int) -> Shaped:
    """What a framework has none of, and adds nothing."""
    return Shaped(Call("zeros", (), sizes), sizes)


def stacked(parts: Sequence[Expression], arrays: Mapping[str, Shape]) -> Expression:
    """Expressions along a new first axis, in the simplest form.

    What is picked one by one from an array that is stacked already is that array.
    """
    first = parts[0]
    if isinstance(first, Call) and all(
        isinstance(p, Call)
        and (p.operation, len(p.operands)) == (first.operation, len(first.operands))
        for p in parts
    ):
        calls = [p for p in parts if isinstance(p, Call)]
        places = [p.numbers for p in calls]
        inner = first.operands[0] if first.operands else None
        if (
            first.operation == "pick"
            and isinstance(inner, Given)
            and places == [(0, i) for i in range(arrays[inner.name][0])]
            and {p.operands for p in calls} == {first.operands}
        ):
            return inner
        columns = list(zip(*(p.operands for p in calls), strict=True))
        if first.operation in _LIFTED and len(set(places)) == 1 and columns:
            operands = tuple(stacked(column, arrays) for column in columns)
            numbers = _LIFTED[first.operation](len(parts), first.numbers)
            return Call(first.operation, operands, numbers)
    return _counted(parts) or Call("stack", tuple(parts), (0,))


def _counted(parts: Sequence[Expression]) -> Expression | None:
    """Arrays whose names differ in one number, which counts them, in short."""
    names = [part.name for part in parts if isinstance(part, Given)]
    if len(names) < max(2, len(parts)) or "{}" in names[0]:
        return None
    for number in re.finditer(r"\d+", names[0]):
        first = int(number[0])
        short = f"{names[0][: number.start()]}{{}}{names[0][number.end() :]}"
        call = Call("each", (Given(short),), (first, first + len(names)))
        if list(names_in(call)) == names:
            return call
    return None


_LIFTED: dict[str, Callable[[int, tuple[Any, ...]], tuple[Number, ...]]] = {
    "transpose": lambda n, axes: (0, *(a + 1 for a in axes)),
    "flip": lambda n, axes: tuple(a + 1 for a in axes),
    "reshape": lambda n, sizes: (n, *sizes),
    "part": lambda n, numbers: (numbers[0] + 1, *numbers[1:]),
    "pick": lambda n, numbers: (numbers[0] + 1, *numbers[1:]),
    "concat": lambda n, numbers: (numbers[0] + 1,),
    "add": lambda n, numbers: numbers,
    "negate": lambda n, numbers: numbers,
    "shift": lambda n, numbers: numbers,
}
"""What an operation on each of several is on all of them at once."""


def elements(shape: Shape) -> int:
    """How many there are."""
    return math.prod(shape)
