"""Sums of 16-bit numbers, whose error does not grow with how many they are.

Some compilers add 16-bit numbers one after another, and round each sum: 257 ones are 256
in bfloat16. A product accumulates beyond 16 bits inside, and rounds once.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from . import sharded


def ratio(number: float, size: Any, dtype: Any) -> Any:
    """A number over a size: a number, and over a size that is a symbol a scalar of a dtype."""
    if isinstance(size, int):
        return number / size
    return jnp.asarray(number / size, dtype)


def doublings(size: Any) -> int:
    """The power of two that a size is at most: of a size that is a symbol, the 8th.

    As a factor of sums in float16 it leaves numbers of 1 in range for 2^24 of them.
    """
    return math.ceil(math.log2(size)) if isinstance(size, int) else 8


def weighted_sum(x: jax.Array, axes: Sequence[int], weight: float = 1.0) -> jax.Array:
    """Sum of weight * x over axes, in the dtype of x, as a product.

    A weight that is a power of two changes the range of the sum, and no digit.
    """
    weights = lax.full([x.shape[a] for a in axes], weight, x.dtype)
    return lax.dot_general(x, weights, ((axes, range(len(axes))), ((), ())))


def spread(x: jax.Array, shape: Sequence[int]) -> jax.Array:
    """An array in an operation whose result has this shape, to which it broadcasts.

    The gradient of a broadcast is a sum. In 16 bits x arrives broadcast, so that it is a
    `weighted_sum`; in others it arrives as it is. In a rule of `jax.custom_jvp` it is for
    values, not for tangents, of which nothing is differentiated.
    """
    if not _is_half(x.dtype) or x.shape == tuple(shape):
        return x
    return _broadcast(x, tuple(shape))


@functools.cache
def _is_half(dtype: Any) -> bool:
    return jnp.finfo(dtype).bits <= 16


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _broadcast(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    return jnp.broadcast_to(x, shape)


@_broadcast.defjvp
def _(
    shape: tuple[int, ...], primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    return _broadcast(primals[0], shape), _grown(tangents[0], shape)


def _grown(x: jax.Array, shape: Sequence[int], weight: float = 1.0) -> jax.Array:
    """Weight * x, broadcast: as a product, so that its transpose is a `weighted_sum`."""
    added = len(shape) - x.ndim
    kept = [a for a, n in enumerate(x.shape) if n == shape[a + added]]
    grown = [a for a in range(len(shape)) if a - added not in kept]
    # The transpose of a product is a product, that of a broadcast a plain sum.
    weights = lax.full([shape[a] for a in grown], weight, x.dtype)
    rows = lax.reshape(x, [x.shape[a] for a in kept])
    product = lax.dot_general(weights, rows, (((), ()), ((), ())))
    order = [*grown, *(a + added for a in kept)]
    places = [order.index(a) for a in range(len(shape))]
    return lax.transpose(product, places)


def selected(
    x: jax.Array, where: jax.Array, axes: Sequence[int], axis_name: Any = None
) -> tuple[jax.Array, jax.Array]:
    """What a mask selects, and what to divide its mean over all elements by.

    The result is x where the mask is True and 0 elsewhere, and about the share that is
    selected, over axes that keep size 1; 1 where nothing is. In 16 bits both are
    multiplied by a power of two, so that the mean of a few elements among many remains in
    the range of float16.
    """
    ones = jnp.broadcast_to(where, x.shape).astype(x.dtype)
    axes = sorted(a % x.ndim for a in axes)
    size = max(math.prod(x.shape[a] for a in axes), 1)
    if jnp.finfo(x.dtype).bits > 16:
        share = lax.reduce(ones, x.dtype.type(0), lax.add, axes) / size
    else:
        part = 2.0 ** -min(doublings(size), 24)
        share = weighted_sum(ones, axes, part) * ratio(1.0 / part, size, x.dtype)
    share = lax.expand_dims(share, axes)
    share = share if axis_name is None else lax.pmean(share, axis_name)
    share = jnp.where(share == 0.0, 1.0, share)
    if jnp.finfo(x.dtype).bits <= 16:
        gain = lax.reduce_precision(lax.rsqrt(share), jnp.finfo(x.dtype).nexp, 0)
        x, share = x * gain, share * gain
    return jnp.where(where, x, 0), share


def spread_mean(
    x: jax.Array,
    axes: Sequence[int],
    axis_name: Any = None,
    where: jax.Array | None = None,
) -> jax.Array:
    """The mean over axes in the place of each element, for tangents in 16 bits.

    With a mask it is that of the elements that are selected.

    A part of the division is done in either sum, that of x and that of its transpose, so
    that both are in the range of float16: of 2^20 elements, a mean of up to 2 here, and
    of up to 2048 in the transpose.
    """
    axes = sorted(a % x.ndim for a in axes)
    share = None
    if where is not None:
        x, share = selected(x, where, axes, axis_name)
    size = max(math.prod(x.shape[a] for a in axes), 1)
    bits = min(doublings(size), 32)
    before, after = 2.0 ** -(bits // 4), 2.0 ** -(bits - bits // 4)
    rest = ratio(1.0 / (before * after), size, x.dtype)
    total = weighted_sum(x, axes, before) * rest
    total = total if axis_name is None else lax.pmean(total, axis_name)
    total = lax.expand_dims(total, axes)
    total = total if share is None else total / share
    return _grown(total, x.shape, after)


def take_rows(
    table: jax.Array, indices: jax.Array, from_end: bool = False
) -> jax.Array:
    """Rows of a table: NaN where there is none.

    An index below zero counts from the end of the table, or has no row. In 16 bits the
    gradient adds what belongs to one row in pairs.
    """
    if indices.dtype.itemsize < 4:
        # The number of rows is none of int8.
        indices = indices.astype(jnp.int32)
    entries = table.shape[0]
    if from_end:
        indices = jnp.where(indices < 0, indices + entries, indices)
    indices = jnp.where(indices < 0, entries, indices)
    if jnp.finfo(table.dtype).bits > 16:
        return _taken(table, indices)
    return _take(table, indices)


def segment_sum(
    data: jax.Array, segment_ids: jax.Array, num_segments: int
) -> jax.Array:
    """The sum of the rows of each segment, as `jax.ops.segment_sum`; in 16 bits they are added in pairs.

    Rows whose segment is none of `num_segments` are left out.
    """
    if not jnp.issubdtype(data.dtype, jnp.floating) or jnp.finfo(data.dtype).bits > 16:
        return jax.ops.segment_sum(data, segment_ids, num_segments)
    shape = num_segments, *data.shape[segment_ids.ndim :]
    sums = jax.ShapeDtypeStruct(shape, data.dtype)
    # What takes a row is transposed to what adds to it.
    [summed] = jax.linear_transpose(lambda table: _rows(table, segment_ids), sums)(data)
    return summed


def add_at(x: jax.Array, indices: Any, values: Any) -> jax.Array:
    """`x.at[indices].add(values)`; in 16 bits what is added at one place is added in pairs.

    Args:
        x: an array.
        indices: integers, or an array of them, or a tuple of these for the first axes of x.
            Negative ones count from the end; where there is no such place, nothing is added.
        values: what is added, broadcast to what `x[indices]` is.
    """
    if not jnp.issubdtype(x.dtype, jnp.floating) or jnp.finfo(x.dtype).bits > 16:
        return x.at[indices].add(values)
    places = jnp.broadcast_arrays(
        *(indices if isinstance(indices, tuple) else (indices,))
    )
    sizes, row = x.shape[: len(places)], x.shape[len(places) :]
    number, inside = 0, True
    for given, size in zip(places, sizes, strict=True):
        place = given.astype(jnp.int32)
        inside &= (place >= -size) & (place < size)
        number = number * size + jnp.where(place < 0, place + size, place)
    ids = jnp.where(inside, number, -1)
    rows = spread(jnp.asarray(values, x.dtype), (*ids.shape, *row))
    return x + segment_sum(rows, ids, math.prod(sizes)).reshape(x.shape)


def _taken(table: jax.Array, indices: jax.Array) -> jax.Array:
    rows = table.at[indices]
    place = sharded.rows_sharding(table, indices)
    return rows.get(mode="fill", fill_value=jnp.nan, out_sharding=place)


@jax.custom_jvp
def _take(table: jax.Array, indices: jax.Array) -> jax.Array:
    return _taken(table, indices)


@_take.defjvp
def _(
    primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    (table, indices), change = primals, tangents[0]
    taken = _take(table, indices)
    place = sharded.rows_sharding(table, indices)
    if place is None:
        return taken, _rows(change, indices)
    # All rows are counted together.
    rows = _rows(sharded.everywhere(change), sharded.everywhere(indices))
    return taken, jax.sharding.reshard(rows, place)


def _rows(table: jax.Array, indices: jax.Array) -> jax.Array:
    """Rows of a table, zero where there is none, whose transpose adds those of one row in pairs."""
    flat = indices.reshape(-1)
    order = jnp.argsort(flat)
    flat, place = flat[order], jnp.arange(flat.size)
    new = (place == 0) | (flat != jnp.roll(flat, 1))
    copy = place - lax.cummax(jnp.where(new, place, 0))
    # One copy of each row is taken, and then as many as there are, so that the transpose
    # adds them in pairs. No row is taken twice.
    first = jnp.where(
        (copy == 0) & (flat >= 0) & (flat < len(table)), flat, len(table) + place
    )
    rows = table.at[first].get(mode="fill", fill_value=0, unique_indices=True)
    count = 1
    while count < flat.size:
        before = jnp.concatenate([jnp.zeros_like(rows[:count]), rows[:-count]])
        fresh = (copy >= count) & (copy < 2 * count)
        rows = jnp.where(lax.expand_dims(fresh, range(1, rows.ndim)), before, rows)
        count *= 2
    rows = rows.at[jnp.argsort(order)].get(unique_indices=True)
    return rows.reshape(*indices.shape, *table.shape[1:])
