"""What is measured of a batch, by measuring its parts, or each example."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._core.paths import listed, named_leaves, shown
from .._core.trees import tree_merge, tree_select
from ._state import is_key, wide

Measure = Callable[[Any, Any, Any, jax.Array], tuple[Any, Any]]
"""(trainables, non_trainables, batch, key) to ((value, non_trainables, metrics), gradients)."""


def in_parts(measure: Measure, count: int, per_example: bool) -> Measure:
    """Measures parts of the batch one after the other: the results are the mean of theirs.

    Gradients of each example are put together, in the order of the batch.
    """

    def averaged(measured: Any) -> Any:
        (value, _, metrics), gradients = measured
        return value, metrics, None if per_example else gradients

    def call(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        parts = jax.tree.map(functools.partial(_split, count), batch)
        keys = jax.random.split(key, count)

        def add(carry: Any, part: Any) -> Any:
            non_trainables, sums = carry
            measured = measure(trainables, non_trainables, *part)
            (_, after, _), gradients = measured
            terms = jax.tree.map(_term, averaged(measured))
            sums = jax.tree.map(jnp.add, sums, terms)
            return (after, sums), gradients if per_example else None

        first = jax.tree.map(lambda leaf: leaf[0], (parts, keys))
        shapes = averaged(jax.eval_shape(measure, trainables, non_trainables, *first))
        zeros = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, _sum_dtype(leaf.dtype)), shapes
        )
        (after, sums), stacked = jax.lax.scan(
            add, (non_trainables, zeros), (parts, keys)
        )
        value, metrics, gradients = jax.tree.map(
            lambda total, leaf: (total / count).astype(_mean_dtype(leaf.dtype)),
            sums,
            shapes,
        )
        if per_example:
            gradients = jax.tree.map(_joined, stacked)
        return (value, after, metrics), gradients

    return call


def each_example(measure: Measure) -> Measure:
    """Measures each example, as a batch of its own: gradients are stacked, the rest are means."""

    def call(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        count = number_of_examples(batch)
        seeds = tree_select(non_trainables, jax.tree.map(is_key, non_trainables))
        seeds = jax.tree.map(functools.partial(_of_examples, count), seeds)

        def one(seeds: Any, example: Any, key: Any) -> Any:
            state = tree_merge(seeds, non_trainables)
            alone = jax.tree.map(lambda leaf: leaf[None], example)
            (value, after, metrics), gradients = measure(trainables, state, alone, key)
            seeds = tree_select(after, jax.tree.map(is_key, after))
            others = tree_select(after, jax.tree.map(lambda x: not is_key(x), after))
            return (value, metrics), gradients, seeds, _shared(others, key)

        keys = jax.random.split(key, count)
        measured, gradients, seeds, others = jax.vmap(one, out_axes=(0, 0, 0, None))(
            seeds, batch, keys
        )
        value, metrics = jax.tree.map(_mean, measured)
        after = tree_merge(jax.tree.map(lambda seed: seed[0], seeds), others)
        return (value, after, metrics), gradients

    return call


def number_of_examples(batch: Any) -> int:
    """The length of the first axis of all arrays of a batch.

    Raises:
        ValueError: where they have none in common.
    """
    shapes = {name: jnp.shape(leaf) for name, leaf in named_leaves(batch)}
    lengths = {shape[:1] for shape in shapes.values()}
    if len(lengths) != 1 or () in lengths:
        found = {f"{shown(name)} {shape}": shape for name, shape in shapes.items()}
        raise ValueError(
            "train.step: with per_example=True each array of the batch must have the "
            f"examples along its first axis, got {listed(found) or 'no array'}; what is the "
            "same for all examples belongs into non_trainables, or is repeated for each"
        )
    return lengths.pop()[0]


def _of_examples(count: int, key: jax.Array) -> jax.Array:
    """A key for each example: for the first one that which is given, so that it goes on."""
    split = functools.partial(_fanned, count)
    for _ in key.shape:
        split = jax.vmap(split, out_axes=1)
    return split(key)


def _fanned(count: int, key: jax.Array) -> jax.Array:
    # What counts on from zero, as an `Rng` does, never folds in the largest number.
    others = jax.random.split(jax.random.fold_in(key, 2**32 - 1), count)
    return others.at[:1].set(key)


def _shared(state: Any, key: jax.Array) -> Any:
    """A state, which must not depend on the example.

    Raises:
        ValueError: where it does, naming its leaves.
    """
    leaves, structure = jax.tree.flatten(state)
    names = [name for name, _ in named_leaves(state)]

    @jax.custom_batching.custom_vmap
    def shared(leaves: Any, key: Any) -> Any:
        return leaves

    # The key makes it the `vmap` over examples that asks, and none around the step.
    @shared.def_vmap
    def of_examples(size: int, batched: Any, leaves: Any, key: Any) -> Any:
        differing = [n for n, differs in zip(names, batched[0], strict=True) if differs]
        if differing:
            raise ValueError(
                "train.step: with per_example=True the state must be the same after each "
                f"example, and differs at {listed(differing)}; statistics of a batch have no "
                "part for each example: normalize examples (GroupNorm, LayerNorm), leave the "
                "state as it is (inference_mode=True), or return what differs as metrics"
            )
        return leaves, batched[0]

    return structure.unflatten(shared(leaves, key))


def _split(count: int, array: Any) -> jax.Array:
    array = jnp.asarray(array)
    if not array.ndim or array.shape[0] % count:
        raise ValueError(
            f"train.step: micro_batches is {count}, by which the first axis of each array "
            f"of the batch must divide; got one of the shape {array.shape}"
        )
    rows = array.reshape(array.shape[0] // count, count, *array.shape[1:])
    return jnp.swapaxes(rows, 0, 1)


def _joined(parts: jax.Array) -> jax.Array:
    """What `_split` made parts of."""
    rows = jnp.swapaxes(parts, 0, 1)
    return rows.reshape(-1, *rows.shape[2:])


def _mean(leaf: jax.Array) -> jax.Array:
    return jnp.mean(_term(leaf), axis=0).astype(_mean_dtype(leaf.dtype))


def _sum_dtype(dtype: Any) -> Any:
    return wide(dtype) if jnp.issubdtype(dtype, jnp.floating) else jnp.float32


def _mean_dtype(dtype: Any) -> Any:
    return dtype if jnp.issubdtype(dtype, jnp.floating) else jnp.float32


def _term(leaf: jax.Array) -> jax.Array:
    return leaf.astype(_sum_dtype(leaf.dtype))
