"""What states are made of: sums that lose nothing, which can be added and reduced."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from ..functional import double_sum, two_sum

T = TypeVar("T")

_BITS = 16
_UNIT = 1 << _BITS


class Count(NamedTuple):
    """A number of examples, or an array of such: high * 2^16 + low, exact up to 2^47.

    A float32 stands still at 2^24, and an int32 overflows at 2^31. `low` has room for the
    sum of 2^15 counts: `jax.lax.psum` of a count is one, too.
    """

    high: jax.Array
    """What is a multiple of 2^16, in its units, an int32."""
    low: jax.Array
    """The rest, an int32."""

    @classmethod
    def of(cls, numbers: jax.Array) -> Count:
        """That of integers that are not negative."""
        numbers = numbers.astype(jnp.int32)
        return cls(numbers >> _BITS, numbers & (_UNIT - 1))

    @classmethod
    def zeros(cls, shape: tuple[int, ...] = ()) -> Count:
        return cls(jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.int32))

    def add(self, other: Count) -> Count:
        """The sum of both."""
        low = self.low + other.low
        return Count(
            self.high + other.high + (low >> _BITS),
            low & (_UNIT - 1),
        )

    def reduce(self, axis_name: Any) -> Count:
        """The sum of those of all devices of a mapped axis."""
        return lax.psum(self.add(Count.zeros()), axis_name).add(Count.zeros())

    def floating(self, dtype: Any) -> jax.Array:
        """The number as a float, to the rounding of that."""
        return self.high.astype(dtype) * float(_UNIT) + self.low.astype(dtype)


class Total(NamedTuple):
    """A sum of floats as two numbers, with about twice the digits of their dtype."""

    high: jax.Array
    """The rounded sum."""
    low: jax.Array
    """What rounding it has lost."""

    @classmethod
    def of(cls, values: jax.Array, where: jax.Array | None = None) -> Total:
        """That of all elements that a mask selects."""
        return cls(*double_sum(values, where))

    @classmethod
    def zeros(cls, dtype: Any) -> Total:
        return cls(jnp.zeros((), dtype), jnp.zeros((), dtype))

    def add(self, other: Total) -> Total:
        """The sum of both."""
        high, lost = two_sum(self.high, other.high)
        return Total(*two_sum(high, (self.low + other.low) + lost))

    def reduce(self, axis_name: Any) -> Total:
        """The sum of those of all devices of a mapped axis."""
        return _folded(self, axis_name)


class Moments(NamedTuple):
    """Mean and squared deviations from it, of all values so far."""

    number: Count
    """Number of the values."""
    total: Total
    """Their sum."""
    squares: Total
    """The sum of (value - mean)^2."""

    @classmethod
    def of(cls, values: jax.Array, where: jax.Array | None = None) -> Moments:
        """Those of all elements that a mask selects."""
        count, total = counted(values, where), Total.of(values, where)
        deviation = values - _mean(count, total)
        return cls(count, total, Total.of(deviation * deviation, where))

    @classmethod
    def zeros(cls, dtype: Any) -> Moments:
        return cls(Count.zeros(), Total.zeros(dtype), Total.zeros(dtype))

    def add(self, other: Moments) -> Moments:
        """The moments of both together (Chan, Golub & LeVeque, 1979)."""
        count = self.number.add(other.number)
        dtype = self.total.high.dtype
        mine, others, all_ = (
            c.floating(dtype) for c in (self.number, other.number, count)
        )
        apart = self.mean - other.mean
        # Of nothing there is no mean; the other one stays as it is.
        both = (mine > 0) & (others > 0)
        share = mine / jnp.where(both, all_, jnp.ones_like(all_))
        between = jnp.where(both, apart * apart * share * others, jnp.zeros_like(share))
        between = Total(between, jnp.zeros_like(between))
        return Moments(
            count,
            self.total.add(other.total),
            self.squares.add(other.squares).add(between),
        )

    def reduce(self, axis_name: Any) -> Moments:
        """Those of all devices of a mapped axis."""
        return _folded(self, axis_name)

    @property
    def mean(self) -> jax.Array:
        """The mean, 0 of nothing."""
        return _mean(self.number, self.total)


def _mean(count: Count, total: Total) -> jax.Array:
    number = count.floating(total.high.dtype)
    return total.high / jnp.where(number > 0, number, jnp.ones_like(number))


def counted(values: jax.Array, where: jax.Array | None) -> Count:
    """The number of elements that a mask selects."""
    if where is None:
        return Count.of(jnp.full((), values.size, jnp.int32))
    chosen = jnp.broadcast_to(where, values.shape)
    return Count.of(jnp.sum(chosen, dtype=jnp.int32))


def _folded(part: T, axis_name: Any) -> T:
    """The sum of what all devices of an axis have, by `add`, which is no sum of the arrays."""
    size, place = lax.axis_size(axis_name), lax.axis_index(axis_name)

    def gathered(x: jax.Array) -> jax.Array:
        # A sum of zeros and one number is exact; and it is the same on all devices, which
        # `jax.shard_map` is told by `psum` alone.
        return lax.psum(
            jnp.zeros((size, *x.shape), x.dtype).at[place].set(x), axis_name
        )

    parts = jax.tree.map(gathered, part)
    first = jax.tree.map(lambda x: x[0], parts)
    rest = jax.tree.map(lambda x: x[1:], parts)
    folded, _ = lax.scan(lambda a, b: (a.add(b), None), first, rest)
    return folded
