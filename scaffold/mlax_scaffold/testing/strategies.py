"""Domains of the words that annotate hyperparameters in specs: which values tests try.

A domain is finite, and its values are sorted into levels, so that options can be covered: None or
not, true or false, one or more, zero or not, each choice. Values are small, and exact in half
precision: what a layer does is the same at 3 channels and at 300.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from mlax_scaffold.testing.dtypes import FLOAT_DTYPES

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Domain(Generic[T]):
    """Values, simplest first, by level: tests see every two levels of two domains together."""

    levels: tuple[tuple[T, ...], ...]
    beyond: tuple[tuple[T, ...], ...] = ()
    """Levels of larger values, for cases none of which is taken with these."""

    def __or__(self, other: Domain[U]) -> Domain[T | U]:
        """The levels of both."""
        return Domain((*self.levels, *other.levels))

    def map(self, function: Callable[[T], U]) -> Domain[U]:
        """What the function makes of each value."""
        return Domain(tuple(tuple(map(function, level)) for level in self.levels))

    @property
    def values(self) -> tuple[T, ...]:
        """All values."""
        return tuple(itertools.chain(*self.levels))

    @property
    def strategy(self) -> st.SearchStrategy[T]:
        """The Hypothesis strategy that draws any of the values, and shrinks to the first."""
        return st.sampled_from(self.values)


def levels(*values: Iterable[T]) -> Domain[T]:
    """A domain of these levels; empty ones are left out."""
    return Domain(tuple(level for level in map(tuple, values) if level))


def just(*values: T) -> Domain[T]:
    """A domain of one level."""
    return levels(values)


def choices(*values: Any) -> Domain[Any]:
    """`Literal`, and all else of which each value is a level."""
    return levels(*((value,) for value in values))


def optional(domain: Domain[T]) -> Domain[T | None]:
    """`... | None`."""
    return choices(None) | domain


def nothing() -> Domain[None]:
    """None alone, where nobody can know which values mean something."""
    return choices(None)


def sizes(min: int = 1, max: int | None = None) -> Domain[int]:
    """`Size`: an integer of at least 1; without a `max` also one that 2 and 3 say nothing of."""
    several = (2, 3, 4, 7) if max is None else range(2, max + 1)
    return levels([min], [n for n in several if n > min])


def axis_sizes(max: int, whole: tuple[int, ...] = ()) -> Domain[int]:
    """Sizes of an axis of an input, and larger ones: patches and windows fit in, and `whole` ones."""
    larger = (*([whole] if whole else []), (16,), (8, 24, 32), (1, 2, 3))
    return Domain(sizes(max=max).levels, larger)


def size_sequences(min_size: int = 0, max: int = 4) -> Domain[tuple[int, ...]]:
    """`Sizes`: up to two integers of at least 1."""
    several = [(1, 2), (max, max - 1), (2, max)]
    lengths = levels([()], [(max,), (1,), (2,)], several)
    return Domain(lengths.levels[min_size:])


def divisors(*sizes: int) -> Domain[int]:
    """`Size`: a common divisor of the sizes."""
    common = math.gcd(*sizes)
    return levels([1], [n for n in range(2, common + 1) if common % n == 0])


def multiples(*sizes: int, max: int = 3) -> Domain[int]:
    """`Size`: a common multiple of the sizes."""
    least = math.lcm(*sizes)
    return levels([least], [n * least for n in range(2, max + 1)])


def counts(min: int = 0, max: int = 3) -> Domain[int]:
    """`Count`: an integer of at least 0."""
    return levels([min], range(min + 1, max + 1))


def integers(min: int = -3, max: int = 3) -> Domain[int]:
    """`int`."""
    return levels([0], range(1, max + 1), range(-1, min - 1, -1))


def booleans() -> Domain[bool]:
    """`bool`."""
    return choices(False, True)


def finite_floats(min: float = -4.0, max: float = 4.0) -> Domain[float]:
    """`float`: a finite number, exact in half precision, so that casts do not change it."""
    sizes = (0.5, 1.0, 1.75, 0.0625, 3.25)
    return levels(
        [0.0] if min <= 0.0 <= max else [],
        [v for v in sizes if min <= v <= max],
        [-v for v in sizes if min <= -v <= max],
    )


def positives(min: float = 2.0**-6, max: float = 4.0) -> Domain[float]:
    """`Positive`: a number above zero, and not so small that its square vanishes."""
    values = (0.5, 0.015625, 0.75, 1.0, 0.125, 2.5)
    return just(*(v for v in values if min <= v <= max))


def non_negatives(max: float = 4.0) -> Domain[float]:
    """`NonNegative`: zero or a positive number."""
    return just(0.0) | positives(max=max)


def probabilities(min: float = 0.0, max: float = 1.0) -> Domain[float]:
    """`Probability`: a number from 0 to 1; the ends are levels of their own."""
    # Two levels inside: at the ends nothing may be random. Half precision has neither 0.3 nor 0.2.
    inside = ([0.5, 0.75], [0.3, 0.2], [0.0], [1.0])
    return levels(*([v for v in level if min <= v <= max] for level in inside))


def fractions() -> Domain[float]:
    """`Fraction`: a number above 0, at most 1."""
    return levels([v / 64 for v in (32, 16, 48, 7, 60)], [1.0])


def open_fractions() -> Domain[float]:
    """A number above 0 and below 1."""
    return just(*(v / 64 for v in (32, 57, 16, 48, 63, 7)))


def decays() -> Domain[float]:
    """`Decay`: a number of at least 0, below 1."""
    return levels([v / 64 for v in (32, 57, 16, 48, 63, 7)], [0.0])


def axis_names() -> Domain[str | tuple[str, ...]]:
    """`AxisName`: a name, or several."""
    return choices("devices", ("hosts", "devices"))


def per_dim(domain: Domain[T], spatial_dims: int) -> Domain[T | tuple[T, ...]]:
    """`PerDim`: one value, or a tuple of one for each spatial axis."""
    return domain | tuples(domain, spatial_dims)


def tuples(domain: Domain[T], length: int) -> Domain[tuple[T, ...]]:
    """Tuples of this length, with different values where the domain has some."""
    values = domain.values
    starts = range(0, len(values) * 3, 2)
    return just(
        *dict.fromkeys(
            tuple(values[(start + i) % len(values)] for i in range(length))
            for start in starts
        )
    )


def rows(*domains: Domain[Any]) -> Domain[tuple[Any, ...]]:
    """`tuple[word, word]`: a value of each domain, the simplest together first, then others of each."""
    columns = [domain.values for domain in domains]
    others = [
        tuple(
            column[(turn + place) % len(column)] for place, column in enumerate(columns)
        )
        for turn in range(max(map(len, columns)))
    ]
    first = tuple(column[0] for column in columns)
    return levels([first], [row for row in dict.fromkeys(others) if row != first])


def paddings(spatial_dims: int, max: int = 2) -> Domain[Any]:
    """`Padding`: a word, an integer, or for each axis an integer or a pair."""
    words = choices("SAME", "VALID", "CAUSAL", "SAME_LOWER")
    amount = counts(max=max)
    pairs = just((0, 1), (2, 0), (1, 1), (1, 2))
    each = levels([*amount.values, *pairs.values])
    return (
        words
        | just(*amount.values)
        | tuples(just(*amount.values), spatial_dims)
        | tuples(each, spatial_dims)
    )


def precisions() -> Domain[Any]:
    """`Precision`: what `jax.lax` takes as `precision`."""
    named = ["default", "high", "highest"]
    return just(*named, *map(jax.lax.Precision, named))


def float_dtypes(x64: bool = True) -> Domain[Any]:
    """`DType`: float16, bfloat16, float32, and where `x64` is true float64."""
    return choices(*(d for d in FLOAT_DTYPES if x64 or d.itemsize < 8))


def accum_dtypes() -> Domain[Any]:
    """`DType` of moments and sums: as wide as the input of most tests, or wider."""
    return choices(jnp.dtype("float32"), jnp.dtype("float64"))


def names() -> Domain[str]:
    """`str`."""
    return just("name", "another name")


def array_shapes(max: int = 3) -> Domain[tuple[int, ...]]:
    """`Shape`: the shape of an array of up to `max` axes."""
    shapes = [(3,), (1,), (2, 4), (4, 1), (2, 1, 3)]
    return levels([()], [s for s in shapes if len(s) <= max])


def new_shapes() -> Domain[tuple[int, ...]]:
    """`NewShape`: shapes that arrays often can be given."""
    return levels([(-1,), (1,), ()], [(1, -1), (-1, 1)], [(2, -1), (-1, 2)])


def axes(ndim: int) -> Domain[int | tuple[int, ...]]:
    """`Axis`: an axis of an array of rank `ndim`, or several distinct ones; none of a scalar."""
    if ndim == 0:
        return just(())
    several = [(0,), (-1,), (0, ndim - 1), (-1, 0), tuple(range(ndim))]
    distinct = [s for s in several if len({a % ndim for a in s}) == len(s)]
    return levels(range(ndim), range(-1, -ndim - 1, -1), dict.fromkeys(distinct))


def activations(smooth: bool = False) -> Domain[Callable[[Any], Any]]:
    """`Activation`: elementwise functions that keep the dtype; `smooth`: without kinks."""
    functions = [jnp.tanh, jnp.sin, jax.nn.sigmoid]
    return just(*functions, *([] if smooth else [jax.nn.relu]))


def functions() -> Domain[Callable[..., Any]]:
    """`Function`: functions of an array, which use a PRNG key where they are given one.

    Another second argument, such as positions, is added. Of a query, a key and a value it
    makes what attention has the shape of.
    """
    return just(_halve, _bend)


def reductions() -> Domain[Callable[..., Any]]:
    """`Reduction`: of two arrays."""
    return choices(jax.lax.add, jax.lax.max)


def dot_generals() -> Domain[Callable[..., Any]]:
    """`DotGeneral`: that of jax, and one that computes something else."""
    return choices(jax.lax.dot_general, _halved_product)


def _halved_product(left: Any, right: Any, *arguments: Any, **options: Any) -> Any:
    return jax.lax.dot_general(0.5 * left, right, *arguments, **options)


def convolutions() -> Domain[Callable[..., Any]]:
    """`ConvGeneralDilated`: that of jax, and one that computes something else."""
    return choices(jax.lax.conv_general_dilated, _halved_convolution)


def _halved_convolution(x: Any, kernel: Any, *arguments: Any, **options: Any) -> Any:
    return jax.lax.conv_general_dilated(0.5 * x, kernel, *arguments, **options)


def _halve(x: Any, second: Any = None, third: Any = None, *_: Any, **__: Any) -> Any:
    return _with(0.5 * x, second) if third is None else _attend(0.5 * x, second, third)


def _bend(x: Any, second: Any = None, third: Any = None, *_: Any, **__: Any) -> Any:
    y = jnp.tanh(x)
    return _with(y, second) if third is None else _attend(y, second, third)


def _attend(query: Any, key: Any, value: Any) -> Any:
    """The value at the first key, by its product with the first feature of each query."""
    if key.size == 0 or value.size == 0:
        return jnp.zeros((*query.shape[:-1], value.shape[-1]), query.dtype)
    product = query[..., :1] * key[..., :1, :1, :1]
    return (1.0 + product) * value[..., :1, :1, :]


def _with(x: Any, second: Any) -> Any:
    if second is None:
        return x
    if jnp.issubdtype(second.dtype, jax.dtypes.prng_key):
        return jnp.where(jax.random.bits(second, x.shape, jnp.uint8) < 128, x, -x)
    return x + 0.25 * _beside(x, second.astype(x.dtype))


def _beside(x: Any, second: Any) -> Any:
    """The second argument so that it broadcasts to x, as positions before heads and features."""
    for axes in (2, 0, 1):
        spread = second.reshape(second.shape + (1,) * axes)
        lengths = zip(reversed(spread.shape), reversed(x.shape), strict=False)
        if spread.ndim <= x.ndim and all(n in (1, m) for n, m in lengths):
            return spread
    return second.ravel()[0] if second.size else jnp.zeros((), x.dtype)


def policies() -> Domain[Callable[..., Any]]:
    """`Policy`: what `jax.checkpoint` keeps."""
    known = jax.checkpoint_policies
    return just(known.dots_saveable, known.everything_saveable)


def scheduled(max: float = 1.0) -> Domain[Any]:
    """`Scheduled`: a number, or a schedule, which is hashable and equal by value."""
    return positives(max=max) | step_functions()


def masks() -> Domain[Any]:
    """`Mask`: functions of a path and a weight."""
    return choices(is_matrix, is_no_bias)


def matrix_axes() -> Domain[Any]:
    """`MatrixAxes`: functions of a path and a weight."""
    return choices(last_two_axes, first_against_others)


def last_two_axes(path: str, weight: Any) -> str:
    """The last two axes are rows and columns, those before a batch."""
    return "b" * (weight.ndim - 2) + "rc" if weight.ndim > 1 else ""


def first_against_others(path: str, weight: Any) -> str:
    """The first axis is one of columns, the others are rows."""
    return "c" + "r" * (weight.ndim - 1) if weight.ndim > 1 else ""


def is_matrix(path: str, weight: Any) -> bool:
    """Whether a weight has two axes or more."""
    return weight.ndim > 1


def is_no_bias(path: str, weight: Any) -> bool:
    """Whether the path of a weight does not end in `bias`."""
    return not path.endswith("bias")


def step_functions() -> Domain[Any]:
    """`SubSchedule`: a schedule, which is hashable and equal by value."""
    return positives(max=1.0).map(InverseDecay)


def boundaries_between(max_size: int = 2) -> Domain[tuple[int, ...]]:
    """`Boundaries`: increasing integers of at least 1."""
    values = [(2, 5), (1, 8), (3, 4)] if max_size > 1 else []
    return levels([(1,), (3,), (8,)], values)


@dataclass(frozen=True)
class InverseDecay:
    """The schedule `init_value / (1 + step)`."""

    init_value: float

    def __call__(self, step: Any) -> Any:
        return self.init_value / (1 + step)


def sequences(
    domain: Domain[T], min_size: int = 1, max_size: int = 3
) -> Domain[tuple[T, ...]]:
    """`tuple[word, ...]`: short tuples."""
    lengths = range(min_size, max_size + 1)
    return levels(*(tuples(domain, length).values for length in lengths))
