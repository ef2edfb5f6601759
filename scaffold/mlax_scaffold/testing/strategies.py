"""Hypothesis strategies for the words that annotate hyperparameters in specs.

Sizes are small by default: what a layer does is the same at 3 channels and at 300.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from mlax_scaffold.testing.dtypes import FLOAT_DTYPES

T = TypeVar("T")


def sizes(min: int = 1, max: int = 4) -> st.SearchStrategy[int]:
    """`Size`: an integer of at least 1."""
    return st.integers(min, max)


def size_sequences(
    min_size: int = 0, max: int = 4
) -> st.SearchStrategy[tuple[int, ...]]:
    """`Sizes`: up to two integers of at least 1."""
    return st.lists(sizes(max=max), min_size=min_size, max_size=2).map(tuple)


def divisors(*sizes: int) -> st.SearchStrategy[int]:
    """`Size`: a common divisor of the sizes."""
    common = math.gcd(*sizes)
    return st.sampled_from([n for n in range(1, common + 1) if common % n == 0])


def multiples(*sizes: int, max: int = 3) -> st.SearchStrategy[int]:
    """`Size`: a common multiple of the sizes."""
    return st.integers(1, max).map(lambda n: n * math.lcm(*sizes))


def counts(min: int = 0, max: int = 3) -> st.SearchStrategy[int]:
    """`Count`: an integer of at least 0."""
    return st.integers(min, max)


def integers(min: int = -3, max: int = 3) -> st.SearchStrategy[int]:
    """`int`."""
    return st.integers(min, max)


def booleans() -> st.SearchStrategy[bool]:
    """`bool`."""
    return st.booleans()


def finite_floats(min: float = -4.0, max: float = 4.0) -> st.SearchStrategy[float]:
    """`float`: a finite number, exact in half precision, so that casts do not change it."""
    return st.floats(min, max, width=16, allow_subnormal=False)


def positives(min: float = 2.0**-6, max: float = 4.0) -> st.SearchStrategy[float]:
    """`Positive`: a number above zero, and not so small that its square vanishes."""
    return finite_floats(min, max)


def non_negatives(max: float = 4.0) -> st.SearchStrategy[float]:
    """`NonNegative`: zero or a positive number."""
    return st.just(0.0) | positives(max=max)


def probabilities(min: float = 0.0, max: float = 1.0) -> st.SearchStrategy[float]:
    """`Probability`: a number from 0 to 1, in steps of 1/64; the ends are drawn often."""
    steps = range(65)
    inside = [s / 64 for s in steps if min <= s / 64 <= max]
    ends = [v for v in (min, max) if v in (0.0, 1.0)]
    return st.sampled_from([*ends, *inside])


def fractions() -> st.SearchStrategy[float]:
    """`Fraction`: a number above 0, at most 1, in steps of 1/64."""
    return st.sampled_from([step / 64 for step in range(1, 65)])


def decays() -> st.SearchStrategy[float]:
    """`Decay`: a number of at least 0, below 1, in steps of 1/64."""
    return st.sampled_from([step / 64 for step in range(64)])


def axis_names() -> st.SearchStrategy[str | tuple[str, ...]]:
    """`AxisName`: a name, or several."""
    return st.sampled_from(["devices", ("hosts", "devices")])


def choices(*values: T) -> st.SearchStrategy[T]:
    """`Literal`: one of the values."""
    return st.sampled_from(values)


def optional(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """`... | None`."""
    return st.none() | strategy


def per_dim(
    strategy: st.SearchStrategy[T], spatial_dims: int
) -> st.SearchStrategy[T | tuple[T, ...]]:
    """`PerDim`: one value, or a tuple of one for each spatial axis."""
    return strategy | st.tuples(*[strategy] * spatial_dims)


def paddings(spatial_dims: int, max: int = 2) -> st.SearchStrategy[Any]:
    """`Padding`: a word, an integer, or for each axis an integer or a pair."""
    amount = counts(max=max)
    words = st.sampled_from(["SAME", "VALID", "CAUSAL", "SAME_LOWER"])
    each = amount | st.tuples(amount, amount)
    return words | amount | st.tuples(*[each] * spatial_dims)


def precisions() -> st.SearchStrategy[Any]:
    """`Precision`: what `jax.lax` takes as `precision`."""
    named = ["default", "high", "highest"]
    return st.sampled_from([*named, *map(jax.lax.Precision, named)])


def float_dtypes(x64: bool = True) -> st.SearchStrategy[Any]:
    """`DType`: float16, bfloat16, float32, and where `x64` is true float64."""
    return st.sampled_from([d for d in FLOAT_DTYPES if x64 or d.itemsize < 8])


def accum_dtypes() -> st.SearchStrategy[Any]:
    """`DType` of moments and sums: as wide as the input of most tests, or wider."""
    return st.sampled_from([jnp.dtype("float32"), jnp.dtype("float64")])


def names() -> st.SearchStrategy[str]:
    """`str`."""
    return st.sampled_from(["name", "another name"])


def array_shapes(max: int = 3) -> st.SearchStrategy[tuple[int, ...]]:
    """`Shape`: the shape of an array of up to `max` axes."""
    return st.lists(st.integers(1, 4), max_size=max).map(tuple)


def new_shapes() -> st.SearchStrategy[tuple[int, ...]]:
    """`NewShape`: shapes that arrays often can be given."""
    return st.sampled_from([(-1,), (1, -1), (-1, 1), (2, -1), (1,), ()])


def axes(ndim: int) -> st.SearchStrategy[int | tuple[int, ...]]:
    """`Axis`: an axis of an array of rank `ndim`, or several distinct ones; none of a scalar."""
    if ndim == 0:
        return st.just(())
    axis = st.integers(-ndim, ndim - 1)
    several = st.lists(axis, min_size=1, max_size=ndim, unique_by=lambda a: a % ndim)
    return axis | several.map(tuple)


def activations(smooth: bool = False) -> st.SearchStrategy[Callable[[Any], Any]]:
    """`Activation`: elementwise functions that keep the dtype; `smooth`: without kinks."""
    functions = [jnp.tanh, jnp.sin, jax.nn.sigmoid]
    return st.sampled_from(functions if smooth else [*functions, jax.nn.relu])


def functions() -> st.SearchStrategy[Callable[..., Any]]:
    """`Function`: functions of an array, which use a PRNG key where they are given one.

    Another second argument, such as positions, changes nothing.
    """
    return st.sampled_from([_halve, _bend])


def _halve(x: Any, key: Any = None) -> Any:
    return _signed(0.5 * x, key)


def _bend(x: Any, key: Any = None) -> Any:
    return _signed(jnp.tanh(x), key)


def _signed(x: Any, key: Any) -> Any:
    if key is None or not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return x
    return jnp.where(jax.random.bits(key, x.shape, jnp.uint8) < 128, x, -x)


def policies() -> st.SearchStrategy[Callable[..., Any]]:
    """`Policy`: what `jax.checkpoint` keeps."""
    known = jax.checkpoint_policies
    return st.sampled_from([known.dots_saveable, known.everything_saveable])


def scheduled(max: float = 1.0) -> st.SearchStrategy[Any]:
    """`Scheduled`: a number, or a schedule, which is hashable and equal by value."""
    return positives(max=max) | positives(max=max).map(InverseDecay)


def masks() -> st.SearchStrategy[Any]:
    """`Mask`: functions of a path and a weight."""
    return st.sampled_from((is_matrix, is_no_bias))


def is_matrix(path: str, weight: Any) -> bool:
    """Whether a weight has two axes or more."""
    return weight.ndim > 1


def is_no_bias(path: str, weight: Any) -> bool:
    """Whether the path of a weight does not end in `bias`."""
    return not path.endswith("bias")


def step_functions() -> st.SearchStrategy[Any]:
    """`SubSchedule`: a schedule, which is hashable and equal by value."""
    return positives(max=1.0).map(InverseDecay)


def boundaries_between(max_size: int = 2) -> st.SearchStrategy[tuple[int, ...]]:
    """`Boundaries`: increasing integers of at least 1."""
    steps = st.lists(sizes(max=8), min_size=1, max_size=max_size, unique=True)
    return steps.map(lambda values: tuple(sorted(values)))


def seeds() -> st.SearchStrategy[int]:
    """Seeds of keys, weights and inputs."""
    return st.integers(0, 2**16)


@dataclass(frozen=True)
class InverseDecay:
    """The schedule `init_value / (1 + step)`."""

    init_value: float

    def __call__(self, step: Any) -> Any:
        return self.init_value / (1 + step)


def sequences(
    strategy: st.SearchStrategy[T], min_size: int = 1, max_size: int = 3
) -> st.SearchStrategy[Sequence[T]]:
    """`tuple[word, ...]`: short tuples."""
    return st.lists(strategy, min_size=min_size, max_size=max_size).map(tuple)
