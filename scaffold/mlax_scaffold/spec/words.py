"""The words of specs at run time: what each accepts, and its canonical form."""

from __future__ import annotations

import math
import operator
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

# Converts a value; the second argument is the number of spatial axes, if there are any.
Converter = Callable[[Any, int | None], Any]


@dataclass(frozen=True)
class Word:
    """An annotation of a hyperparameter."""

    name: str
    convert: Converter
    optional: bool = False

    def __or__(self, other: None) -> Word:
        if other is not None:
            return NotImplemented
        return Word(f"{self.name} | None", self.convert, optional=True)

    def canonical(self, value: Any, spatial_dims: int | None) -> Any:
        """The hashable form of `value`; ValueError or TypeError where it has none."""
        if value is None and self.optional:
            return None
        return self.convert(value, spatial_dims)


@dataclass(frozen=True)
class PerDimWord:
    """`PerDim[word]`: one value, or one for each spatial axis."""

    def __getitem__(self, word: Word) -> Word:
        def convert(value: Any, spatial_dims: int | None) -> tuple[Any, ...]:
            dims = _dims(spatial_dims)
            return tuple(word.convert(v, None) for v in _per_dim(value, dims))

        return Word(f"PerDim[{word.name}]", convert)


@dataclass(frozen=True)
class ArrayWord:
    """An annotation of an input: an array of some kind, or a tree."""

    name: str
    shape: str | None = None
    optional: bool = False

    def __getitem__(self, shape: str) -> ArrayWord:
        return ArrayWord(self.name, shape, self.optional)

    def __or__(self, other: None) -> ArrayWord:
        if other is not None:
            return NotImplemented
        return ArrayWord(self.name, self.shape, optional=True)


def is_array(annotation: Any) -> bool:
    """Whether an annotation is that of an array input (keys are no arrays)."""
    if isinstance(annotation, ArrayWord):
        return annotation.name != "Key"
    return any(map(is_array, typing.get_args(annotation)))


def canonical(annotation: Any, value: Any, values: Mapping[str, Any]) -> Any:
    """`value` in the canonical form that its annotation asks for.

    Args:
        annotation: a word, a Python type, a Literal, or any of them with `| None`.
        value: what the caller gave.
        values: the hyperparameters before this one; PerDim and Padding look up
            `spatial_dims` there.

    Raises:
        ValueError, TypeError: the value is not what the word takes.
    """
    if isinstance(annotation, Word):
        return annotation.canonical(value, values.get("spatial_dims"))
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        (annotation,) = (a for a in typing.get_args(annotation) if a is not type(None))
        return canonical(annotation, value, values)
    if origin is typing.Literal:
        choices = typing.get_args(annotation)
        if value not in choices:
            raise ValueError(f"expected one of {choices}, got {value!r}")
        return value
    if origin is tuple:
        element, _ = typing.get_args(annotation)
        return tuple(canonical(element, v, values) for v in _items(value))
    if annotation in _PYTHON:
        return _PYTHON[annotation](value, None)
    raise TypeError(f"{annotation!r} is no word of the spec language")


def _items(value: Any) -> Sequence[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(f"expected a sequence, got {value!r}")
    return value


def _boundaries(value: Any, _: int | None) -> tuple[int, ...]:
    steps = tuple(Size.convert(step, None) for step in _items(value))
    if list(steps) != sorted(set(steps)):
        raise ValueError(f"expected an increasing sequence, got {value!r}")
    return steps


def _dims(spatial_dims: int | None) -> int:
    if spatial_dims is None:
        raise TypeError("PerDim and Padding need a field spatial_dims before them")
    return spatial_dims


def _per_dim(value: Any, dims: int) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,) * dims
    if len(values) != dims:
        raise ValueError(f"expected one value, or {dims} values; got {value!r}")
    return values


def _integer(value: Any, _: int | None = None) -> int:
    if isinstance(value, bool):
        raise TypeError(f"expected an integer, got {value!r}")
    return operator.index(value)


def _real(value: Any, _: int | None = None) -> float:
    if isinstance(value, (bool, str)):
        raise TypeError(f"expected a number, got {value!r}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"expected a finite number, got {value!r}")
    return number


def _checked(
    convert: Converter, accepts: Callable[[Any], bool], text: str
) -> Converter:
    def checked(value: Any, spatial_dims: int | None) -> Any:
        result = convert(value, spatial_dims)
        if not accepts(result):
            raise ValueError(f"expected {text}, got {value!r}")
        return result

    return checked


def _instance(kind: type) -> Converter:
    def convert(value: Any, _: int | None) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"expected a {kind.__name__}, got {value!r}")
        return value

    return convert


_PADDINGS = ("SAME", "SAME_LOWER", "VALID", "CAUSAL")


def _padding(value: Any, spatial_dims: int | None) -> str | tuple[tuple[int, int], ...]:
    dims = _dims(spatial_dims)
    if isinstance(value, str):
        if value not in _PADDINGS:
            expected = ", ".join(map(repr, _PADDINGS))
            raise ValueError(f"expected {expected} or integers, got {value!r}")
        return value
    values = _per_dim(value, dims)
    pairs = (v if isinstance(v, (list, tuple)) else (v, v) for v in values)
    return tuple((_integer(low), _integer(high)) for low, high in pairs)


def _precision(value: Any, _: int | None) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_precision(v, None) for v in value)
    return None if value is None else lax.Precision(value)


def _dtype(value: Any, _: int | None) -> Any:
    dtype = jnp.dtype(value)
    if not jnp.issubdtype(dtype, jnp.floating):
        raise ValueError(f"expected a floating dtype, got {value!r}")
    return dtype


def _axis(value: Any, _: int | None) -> tuple[int, ...]:
    axes = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(_integer(axis) for axis in axes)


def _axis_name(value: Any, _: int | None) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return value
    names = tuple(value)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"expected a name or names, got {value!r}")
    return names


def _sizes(value: Any, _: int | None) -> tuple[int, ...]:
    return tuple(Size.convert(size, None) for size in value)


def _shape(value: Any, _: int | None) -> tuple[int, ...]:
    return tuple(Count.convert(size, None) for size in value)


def _new_shape(value: Any, _: int | None) -> tuple[int, ...]:
    sizes = tuple(_integer(size) for size in value)
    if any(size < -1 for size in sizes) or sizes.count(-1) > 1:
        raise ValueError(f"expected sizes, of which one may be -1; got {value!r}")
    return sizes


def _hashable_callable(value: Any, _: int | None) -> Any:
    if not callable(value):
        raise TypeError(f"expected a callable, got {value!r}")
    hash(value)
    return value


def _scheduled(value: Any, _: int | None) -> Any:
    return _hashable_callable(value, None) if callable(value) else _real(value)


def _unchanged(value: Any, _: int | None) -> Any:
    return value


_PYTHON: dict[Any, Converter] = {
    int: _integer,
    float: _real,
    bool: _instance(bool),
    str: _instance(str),
}

Size = Word("Size", _checked(_integer, lambda n: n >= 1, "an integer of at least 1"))
Sizes = Word("Sizes", _sizes)
Count = Word("Count", _checked(_integer, lambda n: n >= 0, "an integer of at least 0"))
Positive = Word("Positive", _checked(_real, lambda v: v > 0, "a number above 0"))
NonNegative = Word(
    "NonNegative", _checked(_real, lambda v: v >= 0, "a number of at least 0")
)
Probability = Word(
    "Probability", _checked(_real, lambda v: 0 <= v <= 1, "a number from 0 to 1")
)
Fraction = Word(
    "Fraction", _checked(_real, lambda v: 0 < v <= 1, "a number above 0, at most 1")
)
Decay = Word(
    "Decay", _checked(_real, lambda v: 0 <= v < 1, "a number of at least 0, below 1")
)
PerDim = PerDimWord()
Padding = Word("Padding", _padding)
Precision = Word("Precision", _precision)
DType = Word("DType", _dtype)
Axis = Word("Axis", _axis)
AxisName = Word("AxisName", _axis_name)
Shape = Word("Shape", _shape)
NewShape = Word("NewShape", _new_shape)
Activation = Word("Activation", _hashable_callable)
Function = Word("Function", _hashable_callable)
Policy = Word("Policy", _hashable_callable)
Scheduled = Word("Scheduled", _scheduled)
Initializer = Word("Initializer", _hashable_callable)
Mask = Word("Mask", _hashable_callable)
SubSchedule = Word("SubSchedule", _hashable_callable)
Boundaries = Word("Boundaries", _boundaries)
SubLayer = Word("SubLayer", _unchanged)
Cell = Word("Cell", _unchanged)
Stacked = Word("Stacked", _unchanged)
SubLayers = Word("SubLayers", lambda value, _: tuple(value))
SubOptimizer = Word("SubOptimizer", _unchanged)
SubOptimizers = Word("SubOptimizers", lambda value, _: tuple(value))

Float = ArrayWord("Float")
Int = ArrayWord("Int")
Bool = ArrayWord("Bool")
PyTree = ArrayWord("PyTree")
Key = ArrayWord("Key")
